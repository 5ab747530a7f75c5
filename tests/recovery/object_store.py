"""A local S3 server with one bucket, and what a test does there behind Braid's back."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import boto3
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pafs
from moto import settings
from moto.server import ThreadedMotoServer

BUCKET = "braid-tests"


class ObjectStore:
    """Runs in this process. `environment` leads pyarrow there, in any process that has it."""

    def __init__(self) -> None:
        self._server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self.environment: dict[str, str] = {}
        self._client: Any = None

    def __enter__(self) -> Self:
        logging.getLogger("werkzeug").setLevel(logging.WARNING)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self._client = boto3.client(
            "s3",
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            aws_access_key_id="somebody",
            aws_secret_access_key="secret",
            region_name="us-east-1",
        )
        self._client.create_bucket(Bucket=BUCKET)
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._server.stop()

    def keys(self, prefix: str = "") -> list[str]:
        """The names of all objects that begin so."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def read(self, key: str) -> bytes:
        return bytes(self._client.get_object(Bucket=BUCKET, Key=key)["Body"].read())

    def replace(self, key: str, data: bytes | None) -> None:
        """Put other bytes in an object's place, or nothing."""
        if data is None:
            self._client.delete_object(Bucket=BUCKET, Key=key)
        else:
            self._client.put_object(Bucket=BUCKET, Key=key, Body=data)

    @contextmanager
    def denying(self, action: str, pattern: str) -> Iterator[None]:
        """Refuse an action, such as `s3:PutObject`, on the objects whose names match."""
        place = f"arn:aws:s3:::{BUCKET}/{pattern}"
        statement = {"Effect": "Deny", "Principal": "*", "Action": action, "Resource": place}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self._client.put_bucket_policy(Bucket=BUCKET, Policy=policy)
        try:
            yield
        finally:
            self._client.delete_bucket_policy(Bucket=BUCKET)

    @contextmanager
    def knowing_nobody(self) -> Iterator[None]:
        """Refuse every access key."""
        before = settings.INITIAL_NO_AUTH_ACTION_COUNT
        settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
        try:
            yield
        finally:
            settings.INITIAL_NO_AUTH_ACTION_COUNT = before


def key_of(location: str) -> str:
    """The name of an object, or the beginning of many names, in the bucket."""
    return location.removeprefix(f"s3://{BUCKET}/")


def names_below(store: ObjectStore, location: str) -> list[str]:
    """The names below a location; where pyarrow deleted an object it leaves an empty one for the directory."""
    prefix = f"{key_of(location)}/"
    return sorted(key.removeprefix(prefix) for key in store.keys(prefix) if not key.endswith("/"))


def read_parquet(location: str) -> pa.Table:
    """The rows that any reader of Parquet finds at a location; hidden names are skipped."""
    filesystem, path = pafs.FileSystem.from_uri(location)
    return ds.dataset(path, filesystem=filesystem, format="parquet").to_table()
