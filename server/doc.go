// Package server is a member with its ports: its configuration and life cycle, its connections to
// other members, and the parts below this folder put together.
//
// The package and those below it are Snowraft's own: they may change in any release and promise nothing to importers.
// Programs import client, snowflake, sequence and proto/snowraft/v1.
package server
