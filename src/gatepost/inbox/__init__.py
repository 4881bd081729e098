"""Events, and the inboxes in which they wait: claim, ack, feed, render; `push` brings them there."""
