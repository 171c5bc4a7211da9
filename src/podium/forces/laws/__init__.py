"""The laws that a force can obey, tested at random points."""
