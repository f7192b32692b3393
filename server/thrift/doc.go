// Package thrift serves the Thrift service of Twitter's archived Snowflake server, so that its clients can stay as they are.
//
// The service and its types are those of Snowflake.thrift in github.com/twitter-archive/snowflake:
//
//	service Snowflake {
//	  i64 get_worker_id()
//	  i64 get_timestamp()
//	  i64 get_id(1: string useragent)
//	  i64 get_datacenter_id()
//	}
//
// The protocol is Thrift's binary one, strict or not, framed or not; the first bytes of a connection decide
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-binary-protocol.md). The IDL declares no exceptions for
// its methods, so that a client can read an error only as a TApplicationException. Its message begins with the name of the
// exception that Twitter's server throws.
//
// The main type is [Server].
package thrift
