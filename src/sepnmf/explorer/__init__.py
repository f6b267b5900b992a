"""The explorer: look at data and their anchors, change the anchors, and write the result."""
