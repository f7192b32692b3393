// Package foreign plays libraries that make Snowflake IDs themselves. Its tests, with the build tag foreign, show which IDs
// two copies of a program repeat, and that the presets are the layouts of the libraries.
package foreign
