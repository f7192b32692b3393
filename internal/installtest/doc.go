// Package installtest plays docs/install.md on bare Debian machines: containers of systemd with what Debian itself
// installs and nothing else, each with a network address of its own, and the packages and archives of dist.
//
// The tests need root, the build tag install, Debian's mmdebstrap and systemd-container, a Debian mirror that apt
// reaches, and dist ("make release").
package installtest
