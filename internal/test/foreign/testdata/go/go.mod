module foreign

go 1.26

require (
	github.com/bwmarrin/snowflake v0.3.0
	github.com/sony/sonyflake v1.2.0
)
