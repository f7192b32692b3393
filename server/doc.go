// Package server is a member with its ports: its configuration and life cycle, its connections to
// other members, and the parts below this folder put together.
package server
