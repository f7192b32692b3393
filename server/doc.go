// Package server runs a member with its ports. It holds the configuration and life cycle of a member and the connections to
// other members, and connects the packages below this folder. [Open] starts a [Server], the main type.
//
// The package and those below it are Snowraft's own: they may change in any release and promise nothing to importers.
// Programs import client, snowflake, sequence and proto/snowraft/v1.
package server
