// Package linux has the units, the configuration and the scripts of the packages for Linux, and the tests that install these.
package linux
