// Package s3test tests the backups in S3 against a server of S3 that others run in production, versitygw. It is a separate module,
// because the server has many dependencies. "make s3" runs the tests.
package s3test
