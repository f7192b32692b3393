// Package installtest follows docs/install.md on bare Debian machines. A machine is a container of systemd with only the
// packages that Debian installs by default, its own network address, and the packages and archives of dist.
//
// The tests need root, the build tag install, Debian's mmdebstrap and systemd-container, a Debian mirror that apt
// reaches, and dist ("make release").
package installtest
