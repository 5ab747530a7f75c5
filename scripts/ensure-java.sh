#!/usr/bin/env bash
# Makes sure that Spark will find Java 17 or newer; installs it where apt-get can, and says what to do elsewhere.
set -euo pipefail

readonly MINIMUM=17

# The major version of a java command, or 0: `version "17.0.15"` is 17, `version "1.8.0_392"` is 8.
major_version() {
    local text
    text="$("$1" -version 2>&1)" || { echo 0; return; }
    text="$(sed -nE 's/.* version "(1\.)?([0-9]+).*/\2/p' <<<"$text" | head -n 1)"
    echo "${text:-0}"
}

on_path() { command -v "$1" >/dev/null 2>&1; }

path_version() { if on_path java; then major_version java; else echo 0; fi; }

describe() { if [ "$1" -eq 0 ]; then echo "no working java"; else echo "Java $1"; fi; }

explain() {
    cat >&2 <<TEXT

Braid runs on Spark, which needs Java $MINIMUM or 21. Install one of them, then run make again:

  Debian, Ubuntu   sudo apt-get update && sudo apt-get install -y openjdk-17-jre-headless
  Fedora, RHEL     sudo dnf install -y java-21-openjdk-headless
  macOS            brew install openjdk@17
                   export JAVA_HOME="\$(brew --prefix openjdk@17)/libexec/openjdk.jdk/Contents/Home"
  SDKMAN           sdk list java    (choose a 17 or 21)
                   sdk install java <identifier>

A Java that is already there but not on the PATH: export JAVA_HOME=<its directory, the one that holds bin/java>
TEXT
    exit 1
}

# Spark prefers JAVA_HOME to the PATH, so a JAVA_HOME that is no good cannot be mended by installing anything.
check_java_home() {
    local version
    version="$(major_version "$JAVA_HOME/bin/java")"
    if [ "$version" -ge "$MINIMUM" ]; then
        echo "Java $version (JAVA_HOME)"
        exit 0
    fi
    echo "JAVA_HOME is $JAVA_HOME, where there is $(describe "$version"); Spark would use it and needs $MINIMUM or newer." >&2
    version="$(path_version)"
    if [ "$version" -ge "$MINIMUM" ]; then
        echo "The java on the PATH is Java $version, which is fine. Do: unset JAVA_HOME" >&2
        exit 1
    fi
    explain
}

# How to become root: nothing for root itself, `sudo -n` where it asks for no password.
become_root() {
    if [ "$(id -u)" -eq 0 ]; then
        echo "env"
    elif on_path sudo && sudo -n true >/dev/null 2>&1; then
        echo "sudo -n env"
    else
        return 1
    fi
}

newest_package() {
    local release policy
    for release in 21 17; do
        policy="$(LC_ALL=C apt-cache policy "openjdk-$release-jre-headless")"
        if [[ "$policy" =~ Candidate:\ [0-9] ]]; then
            echo "openjdk-$release-jre-headless"
            return
        fi
    done
    return 1
}

install_with_apt() {
    local root package
    root="$(become_root)" || { echo "apt-get is here, but not the right to use it (no root, no passwordless sudo)." >&2; explain; }
    echo "Java: $(describe "$(path_version)") found; installing with apt-get (about a minute)"
    $root DEBIAN_FRONTEND=noninteractive apt-get update -qq || echo "apt-get update failed; trying with the lists at hand" >&2
    package="$(newest_package)" || { echo "apt-get knows neither openjdk-21-jre-headless nor openjdk-17-jre-headless." >&2; explain; }
    echo "Java: installing $package"
    $root DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null \
        || { echo "apt-get could not install $package." >&2; explain; }
}

if [ -n "${JAVA_HOME:-}" ]; then
    check_java_home
fi

version="$(path_version)"
if [ "$version" -lt "$MINIMUM" ]; then
    if ! on_path apt-get; then
        echo "Java: $(describe "$version") found." >&2
        explain
    fi
    install_with_apt
    hash -r
    version="$(path_version)"
    if [ "$version" -lt "$MINIMUM" ]; then
        echo "A newer Java was installed, but the java on the PATH is still $(describe "$version")." >&2
        echo "Do: sudo update-alternatives --config java (and choose $MINIMUM or newer)" >&2
        exit 1
    fi
fi
echo "Java $version"
