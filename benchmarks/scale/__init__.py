"""How the work of a step grows with the number of slots: `braid bench scale`."""
