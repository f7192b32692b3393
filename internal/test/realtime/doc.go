// Package realtime holds the list of tests whose verdict may depend on how fast the machine is.
package realtime
