package redis

import "strings"

// refusals maps commands that users of Redis may send to advice on what to do instead. Any other unknown command gets the
// answer of Redis.
var refusals = func() map[string]string {
	const here = "this is Snowraft, where a key is a sequence, served by INCR, INCRBY, GET and EXISTS"
	all := make(map[string]string)
	for names, advice := range map[string]string{
		"set setex psetex getset getex mset msetnx append setbit rename renamenx restore copy": here +
			"; to set the next number: snowraft seq set NAME NEXT",
		"del unlink getdel flushdb flushall": here + "; to delete one: snowraft seq delete NAME",
		"decr decrby": "a number that was issued is never taken back. " +
			"For numbers that decrease: snowraft seq create NAME --increment -1, then INCR",
		"incrbyfloat": "a sequence is of whole numbers: INCR or INCRBY",
		"persist ttl pttl expiretime pexpiretime": "a sequence does not expire. " +
			"For numbers that begin again each day: snowraft seq create NAME --reset daily",
		"watch unwatch": "a transaction watches no keys. Each INCR is atomic, whatever other clients do",
		"eval evalsha eval_ro evalsha_ro script fcall fcall_ro function":   "there are no scripts: " + here,
		"subscribe psubscribe ssubscribe publish unsubscribe punsubscribe": "there are no channels: " + here,
		"keys scan dbsize randomkey type object dump sort":                 "to see the sequences: snowraft seq list",
		"mget strlen setrange getrange substr getbit bitcount hincrby hincrbyfloat hget hset hgetall hmset hdel lpush rpush " +
			"lpop rpop lrange sadd srem smembers sismember zadd zincrby zrange zscore xadd xread pfadd": here,
		"save bgsave bgrewriteaof shutdown replicaof failover monitor debug": "a member is administered with the command " +
			"snowraft, see snowraft --help",
		"cluster readonly readwrite asking": noCluster,
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = advice
		}
	}
	return all
}()

// noCluster is the answer of Redis, which client libraries look for. A client needs no cluster mode, because any member
// serves any key.
const noCluster = "This instance has cluster support disabled"
