"""The viewer: runs of any size on a loopback server, read where they lie. See docs/design/page.md."""
