package redis_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/server/redis"
)

// client is a connection for raw bytes.
type client struct {
	tb testing.TB
	net.Conn
}

func dial(tb testing.TB, addr string) *client {
	tb.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = nc.Close() })
	return &client{tb: tb, Conn: nc}
}

// send sends a text unchanged.
func (c *client) send(s string) {
	c.tb.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.tb.Fatal(err)
	}
}

// reader reads the lines of answers.
type reader struct {
	tb testing.TB
	*bufio.Reader
}

func (c *client) reader() *reader { return &reader{tb: c.tb, Reader: bufio.NewReader(c)} }

func (r *reader) line() string {
	r.tb.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		r.tb.Fatal(err)
	}
	return strings.TrimSuffix(line, "\r\n")
}

// all returns all answers to a text, sent on its own connection.
func all(tb testing.TB, addr, s string) string {
	tb.Helper()
	c := dial(tb, addr)
	c.send(s)
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		tb.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// A client that uses each key only once does not make its connection grow.
func TestKeysAreKeptWithinBounds(t *testing.T) {
	t.Parallel()
	if n := redis.KeysKept(10_000); n < 1 || n > 64 {
		t.Errorf("%d keys are kept", n)
	}
}

const (
	hello = "*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:2\r\n$2\r\nid\r\n:1\r\n" +
		"$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
	hello3 = "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:1\r\n" +
		"$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
	badClientName = "-ERR Client names cannot contain spaces, newlines or special characters.\r\n"
	notInteger    = "-ERR value is not an integer or out of range\r\n"
	noValues      = "this is Snowraft, where a key is a sequence, served by INCR, INCRBY, GET and EXISTS; " +
		"to set the next number: snowraft seq set NAME NEXT\r\n"
	passed    = "-ERR a time that has passed deletes a key in Redis, and here nothing; to delete a sequence: snowraft seq delete NAME\r\n"
	badNext   = "-ERR syntax error, expected SNOWRAFT.NEXT name [PERIOD p [FROM n]] [COUNT n]\r\n"
	queued    = "+QUEUED\r\n"
	aborted   = "-EXECABORT Transaction discarded because of previous errors.\r\n"
	noCluster = "-ERR This instance has cluster support disabled\r\n"
)

// Every answer that Redis also has equals that of redis-server 7.0.15, byte for byte. The other answers are marked as
// ours.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"PING\r\n", "+PONG\r\n"},
		{"ping\r\n", "+PONG\r\n"},
		{"PiNg ab\r\n", "$2\r\nab\r\n"},
		{"PING a b\r\n", "-ERR wrong number of arguments for 'ping' command\r\n"},
		{"ECHO \"a b\"\r\n", "$3\r\na b\r\n"},
		{"ECHO\r\n", "-ERR wrong number of arguments for 'echo' command\r\n"},
		{"AUTH x\r\n", "+OK\r\n"}, // ours, like the next: an open cluster accepts every password
		{"AUTH default x\r\n", "+OK\r\n"},
		{"AUTH foo x\r\n", "+OK\r\n"},
		{"AUTH a b c\r\n", "-ERR syntax error\r\n"},
		{"HELLO\r\n", hello},
		{"HELLO 2\r\n", hello},
		{"HELLO 2 AUTH default x SETNAME me\r\nCLIENT GETNAME\r\n", hello + "$2\r\nme\r\n"},
		{"HELLO 4\r\n", "-NOPROTO unsupported protocol version\r\n"},
		{"HELLO abc\r\n", "-ERR Protocol version is not an integer or out of range\r\n"},
		{"HELLO 2 FOO\r\n", "-ERR Syntax error in HELLO option 'FOO'\r\n"},
		{"HELLO 2 SETNAME\r\n", "-ERR Syntax error in HELLO option 'SETNAME'\r\n"},
		{"HELLO 2 AUTH foo x\r\n", hello},
		{"HELLO 2 AUTH default x SETNAME \"a b\"\r\n", badClientName},

		{"HELLO 3\r\n", hello3},
		{"HELLO 3 AUTH default x SETNAME me\r\nCLIENT GETNAME\r\n", hello3 + "$2\r\nme\r\n"},
		{"HELLO 3\r\nHELLO\r\n", hello3 + hello3},
		{"HELLO 3\r\nHELLO 2\r\nGET a\r\n", hello3 + hello + "$-1\r\n"},
		{"HELLO 3\r\nHELLO 4\r\nGET a\r\n", hello3 + "-NOPROTO unsupported protocol version\r\n_\r\n"},
		{"HELLO 3 SETNAME \"a b\"\r\nGET a\r\n", badClientName + "$-1\r\n"},
		{"HELLO 3\r\nRESET\r\nGET a\r\n", hello3 + "+RESET\r\n$-1\r\n"},
		{"HELLO 3\r\nGET a\r\nINCR a\r\nGET a\r\nEXISTS a\r\n", hello3 + "_\r\n:1\r\n$1\r\n1\r\n:1\r\n"},
		{"HELLO 3\r\nCLIENT GETNAME\r\nCLIENT ID\r\n", hello3 + "_\r\n:1\r\n"},
		{"HELLO 3\r\nTIME\r\n", hello3 + "*2\r\n$10\r\n1760000000\r\n$6\r\n123000\r\n"},
		{"HELLO 3\r\nINFO cluster\r\n", hello3 + "=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n"},
		{"HELLO 3\r\nINFO nosuch\r\n", hello3 + "=4\r\ntxt:\r\n"},
		{"HELLO 3\r\nCONFIG GET save\r\nCONFIG GET nosuch\r\n", hello3 + "%1\r\n$4\r\nsave\r\n$0\r\n\r\n%0\r\n"},
		{"HELLO 3\r\nCOMMAND INFO incr nosuch\r\n", hello3 +
			"*2\r\n*10\r\n$4\r\nincr\r\n:2\r\n~2\r\n+write\r\n+fast\r\n:1\r\n:1\r\n:1\r\n~0\r\n~0\r\n~0\r\n~0\r\n_\r\n"},
		{"HELLO 3\r\nCOMMAND DOCS INCR nosuch\r\n", hello3 +
			"%1\r\n$4\r\nincr\r\n%1\r\n$7\r\nsummary\r\n$34\r\nTake the next number of a sequence\r\n"},

		{"SELECT 0\r\n", "+OK\r\n"},
		{"SELECT 1\r\n", "-ERR DB index is out of range\r\n"}, // ours: it has one database
		{"SELECT abc\r\n", notInteger},
		{"SELECT\r\n", "-ERR wrong number of arguments for 'select' command\r\n"},
		{"CLIENT\r\n", "-ERR wrong number of arguments for 'client' command\r\n"},
		{"CLIENT FOO\r\n", "-ERR unknown subcommand 'FOO'. Try CLIENT HELP.\r\n"},
		{"CLIENT HELP x\r\n", "-ERR wrong number of arguments for 'client|help' command\r\n"},
		{"CONFIG HELP\r\n", "*5\r\n+CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n" +
			"+GET <parameter> [<parameter> ...]\r\n+    Return these parameters and their values; * returns all.\r\n" + // ours
			"+HELP\r\n+    Prints this help.\r\n"},
		{"CLIENT ID\r\n", ":1\r\n"},
		{"CLIENT ID 3\r\n", "-ERR wrong number of arguments for 'client|id' command\r\n"},
		{"CLIENT GETNAME\r\n", "$-1\r\n"},
		{"CLIENT SETNAME\r\n", "-ERR wrong number of arguments for 'client|setname' command\r\n"},
		{"CLIENT SETNAME \"a b\"\r\n", badClientName},
		{"CLIENT SETNAME ab\r\nCLIENT GETNAME\r\nRESET\r\nCLIENT GETNAME\r\n", "+OK\r\n$2\r\nab\r\n+RESET\r\n$-1\r\n"},
		{"CLIENT SETINFO LIB-NAME x\r\n", "+OK\r\n"}, // same as Redis 7.2
		{"CLIENT NO-EVICT ON\r\n", "+OK\r\n"},
		{"HELLO 3\r\nCLIENT TRACKING ON OPTIN\r\nCLIENT TRACKING off\r\n", hello3 + "+OK\r\n+OK\r\n"},
		{"CLIENT CACHING YES\r\n", "-ERR unknown subcommand 'CACHING'. Try CLIENT HELP.\r\n"}, // ours, like the next
		{"CLIENT TRACKING ON\r\n", "-ERR CLIENT TRACKING is served with ON OPTIN and OFF only: a number that a client caches is out of date\r\n"},
		{"CLIENT NO-EVICT FOO\r\n", "-ERR syntax error\r\n"},
		{"CLIENT REPLY ON\r\n", "+OK\r\n"},
		{"CLIENT REPLY FOO\r\n", "-ERR syntax error\r\n"},
		{"CLIENT REPLY OFF\r\n", "-ERR CLIENT REPLY OFF is not served: numbers that the client does not read are lost\r\n"}, // ours
		{"COMMAND COUNT\r\n", ":27\r\n"},
		{"COMMAND COUNT 3\r\n", "-ERR wrong number of arguments for 'command|count' command\r\n"},
		{"COMMAND LIST FOO\r\n", "-ERR syntax error\r\n"},
		{"COMMAND FOO\r\n", "-ERR unknown subcommand 'FOO'. Try COMMAND HELP.\r\n"},
		{"COMMAND INFO incr nosuch\r\n", "*2\r\n*10\r\n$4\r\nincr\r\n:2\r\n*2\r\n+write\r\n+fast\r\n:1\r\n:1\r\n:1\r\n*0\r\n*0\r\n*0\r\n*0\r\n$-1\r\n"},
		{"COMMAND DOCS INCR nosuch\r\n", "*2\r\n$4\r\nincr\r\n*2\r\n$7\r\nsummary\r\n$34\r\nTake the next number of a sequence\r\n"},
		{"INFO nosuch\r\n", "$0\r\n\r\n"},
		{"INFO persistence CLUSTER\r\n", "$58\r\n# Persistence\r\nloading:0\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n\r\n"},
		{"INFO snowraft\r\n", "$112\r\n# Snowraft\r\nsnowraft_version:v1.2.3\r\nmember:m1\r\nmember_id:9b2d\r\n" +
			"raft_role:leader\r\nleader:m1\r\ncluster_id:c0ffee\r\n\r\n"}, // ours
		{"TIME\r\n", "*2\r\n$10\r\n1760000000\r\n$6\r\n123000\r\n"},
		{"TIME x\r\n", "-ERR wrong number of arguments for 'time' command\r\n"},
		{"CONFIG\r\n", "-ERR wrong number of arguments for 'config' command\r\n"},
		{"CONFIG GET save\r\n", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"},
		{"CONFIG GET appendonly\r\n", "*2\r\n$10\r\nappendonly\r\n$3\r\nyes\r\n"},
		{"CONFIG GET nosuch\r\n", "*0\r\n"},
		{"CONFIG GET\r\n", "-ERR wrong number of arguments for 'config|get' command\r\n"},
		{"CONFIG FOO\r\n", "-ERR unknown subcommand 'FOO'. Try CONFIG HELP.\r\n"},
		{"CLUSTER SLOTS\r\n", noCluster},
		{"READONLY\r\n", noCluster},
		{"QUIT x\r\nPING\r\n", "+OK\r\n"},
		{"FOO\r\n", "-ERR unknown command 'FOO', with args beginning with: \r\n"},
		{"FOO \"a\\r\\nb\" c d\r\n", "-ERR unknown command 'FOO', with args beginning with: 'a  b' 'c' 'd' \r\n"},
		{"\"\" a\r\n", "-ERR unknown command '', with args beginning with: 'a' \r\n"},

		{"INCR\r\n", "-ERR wrong number of arguments for 'incr' command\r\n"},
		{"InCr a b\r\n", "-ERR wrong number of arguments for 'incr' command\r\n"},
		{"INCRBY a\r\n", "-ERR wrong number of arguments for 'incrby' command\r\n"},
		{"INCRBY a x\r\n", notInteger},
		{"INCRBY a +1\r\n", notInteger},
		{"INCRBY a 01\r\n", notInteger},
		{"INCRBY a 9223372036854775808\r\n", notInteger},
		{"INCRBY a -9223372036854775809\r\n", notInteger},
		{"GET\r\n", "-ERR wrong number of arguments for 'get' command\r\n"},
		{"EXISTS\r\n", "-ERR wrong number of arguments for 'exists' command\r\n"},
		{"GET a\r\nEXISTS a\r\n", "$-1\r\n:0\r\n"},
		{"INCR a\r\nINCR a\r\nGET a\r\n", ":1\r\n:2\r\n$1\r\n2\r\n"},
		{"INCRBY a 7\r\nINCR a\r\nEXISTS a b a\r\n", ":7\r\n:8\r\n:2\r\n"},
		{"INCR unused\r\nGET unused\r\n", ":7\r\n$1\r\n7\r\n"},
		{"GET unused\r\n", "$-1\r\n"},
		{"INCR down\r\nINCRBY down 3\r\n", ":10\r\n:4\r\n"},
		{"INCRBY full 2\r\nINCR full\r\n", ":9223372036854775807\r\n-ERR increment or decrement would overflow\r\n"},
		// Two numbers are left. They go to the commands that need no more.
		{"INCR full\r\nINCRBY full 2\r\nINCR full\r\n",
			":9223372036854775806\r\n-ERR increment or decrement would overflow\r\n:9223372036854775807\r\n"},

		// Ours: commands that Redis accepts and Snowraft refuses.
		{"INCRBY a 0\r\n", "-ERR INCRBY takes at least 1 number, and 0 is less. " +
			"For numbers that decrease: snowraft seq create NAME --increment -1, then INCR\r\n"},
		{"INCRBY a 1000001\r\n", "-ERR INCRBY takes at most 1000000 numbers at once, and 1000001 are more: " +
			"send several commands, or move the sequence with: snowraft seq set NAME VALUE\r\n"},
		{"INCRBY a 1000000\r\n", ":1000000\r\n"},
		{"INCR little\r\nINCR little\r\n", ":1\r\n-ERR sequence little is exhausted\r\n"},
		{"INCR \"\"\r\n", "-ERR key of 0 bytes: expected 1 to 128 bytes\r\n"},
		{"INCR \"a b\"\r\n", "-ERR key \"a b\": U+0020 at byte 1 is a space or invisible; use visible characters\r\n"},
		{"INCR $a\r\n", "-ERR key \"$a\": names that begin with \"$\" are reserved; choose another name\r\n"},
		{"GET \"\\xff\"\r\n", "-ERR key \"\\xff\": expected UTF-8\r\n"},
		{"EXISTS \"\\xff\" unused\r\n", ":1\r\n"},
		{"DECR a\r\n", "-ERR DECR is not served: a number that was issued is never taken back. " +
			"For numbers that decrease: snowraft seq create NAME --increment -1, then INCR\r\n"},
		{"set a 1\r\n", "-ERR SET is not served: " + noValues},
		{"INCR a\r\nSET a 0 NX\r\nset a x nx\r\nSETNX a 5\r\nINCR a\r\n", ":1\r\n$-1\r\n$-1\r\n:0\r\n:2\r\n"},
		{"HELLO 3\r\nSET unused 0 NX\r\nSETNX unused 0\r\nINCR unused\r\n", hello3 + "_\r\n:0\r\n:7\r\n"},
		{"SET a 0 NX\r\nINCR a\r\nSETNX b 0\r\nINCR b\r\n", "+OK\r\n:1\r\n:1\r\n:1\r\n"},
		{"SET a 5 NX\r\nSETNX a 5\r\nEXISTS a\r\n", "-ERR there is no sequence a\r\n-ERR there is no sequence a\r\n:0\r\n"}, // ours: it cannot say 5
		{"SET unused 0 XX\r\n", "-ERR SET is not served: " + noValues},
		{"SET unused 0 NX EX 9\r\n", "-ERR SET is not served: " + noValues},
		{"SET \"\" 0 NX\r\nSETNX \"\" 0\r\n", strings.Repeat("-ERR key of 0 bytes: expected 1 to 128 bytes\r\n", 2)},
		{"SETNX a\r\n", "-ERR wrong number of arguments for 'setnx' command\r\n"},
		{"SET a\r\n", "-ERR wrong number of arguments for 'set' command\r\n"},
		{"INCR a\r\nEXPIRE a 86400\r\nPEXPIRE a 1 nx\r\nINCR a\r\n", ":1\r\n:1\r\n:1\r\n:2\r\n"},
		{"EXPIREAT a 1760000001\r\nPEXPIREAT a 1760000000124 LT\r\n", ":1\r\n:1\r\n"},
		{"EXPIRE a 9 XX\r\nEXPIRE a 9 GT\r\n", ":0\r\n:0\r\n"},
		{"EXPIRE a x\r\n", notInteger},
		{"EXPIRE a 9 FOO\r\n", "-ERR Unsupported option FOO\r\n"},
		{"EXPIRE a\r\n", "-ERR wrong number of arguments for 'expire' command\r\n"},
		{"EXPIRE \"\" 9\r\n", "-ERR key of 0 bytes: expected 1 to 128 bytes\r\n"},
		// Ours: Redis would delete the key.
		{"INCR a\r\nEXPIRE a 0\r\nEXPIREAT a 1760000000\r\nPEXPIREAT a 1760000000123\r\nINCR a\r\n", ":1\r\n" + passed + passed + passed + ":2\r\n"},
		{"TTL a\r\n", "-ERR TTL is not served: a sequence does not expire. " +
			"For numbers that begin again each day: snowraft seq create NAME --reset daily\r\n"},

		// Transactions. Redis answers in the same way, except where the answer says what is not served.
		{"MULTI\r\nINCR a\r\nGET a\r\nINCRBY a 3\r\nEXEC\r\nINCR a\r\n", "+OK\r\n" + queued + queued + queued + "*3\r\n:1\r\n$1\r\n1\r\n:4\r\n:5\r\n"},
		{"MULTI\r\nINCR a\r\nEXPIRE a 9\r\nEXISTS a b\r\nGET b\r\nSETNX a 0\r\nEXEC\r\n",
			"+OK\r\n" + strings.Repeat(queued, 5) + "*5\r\n:1\r\n:1\r\n:1\r\n$-1\r\n:0\r\n"},
		{"INCR a\r\nMULTI\r\nINCR a\r\nEXEC\r\nMULTI\r\nINCR a\r\nEXEC\r\n", ":1\r\n+OK\r\n" + queued + "*1\r\n:2\r\n+OK\r\n" + queued + "*1\r\n:3\r\n"},
		{"HELLO 3\r\nMULTI\r\nGET a\r\nEXEC\r\n", hello3 + "+OK\r\n" + queued + "*1\r\n_\r\n"},
		{"MULTI\r\nEXEC\r\n", "+OK\r\n*0\r\n"},
		{"MULTI\r\nINCRBY a x\r\nINCR a\r\nEXEC\r\n", "+OK\r\n" + queued + queued + "*2\r\n" + notInteger + ":1\r\n"},
		{"MULTI\r\nINCR a\r\nFOO b\r\nINCR a\r\nEXEC\r\nINCR a\r\n",
			"+OK\r\n" + queued + "-ERR unknown command 'FOO', with args beginning with: 'b' \r\n" + queued + aborted + ":1\r\n"},
		{"MULTI\r\nINCR\r\nEXEC\r\n", "+OK\r\n-ERR wrong number of arguments for 'incr' command\r\n" + aborted},
		{"MULTI\r\nINCR a\r\nDISCARD\r\nINCR a\r\n", "+OK\r\n" + queued + "+OK\r\n:1\r\n"},
		{"MULTI\r\nmulti\r\nINCR a\r\nEXEC\r\n", "+OK\r\n-ERR MULTI calls can not be nested\r\n" + queued + "*1\r\n:1\r\n"},
		{"EXEC\r\nDISCARD\r\n", "-ERR EXEC without MULTI\r\n-ERR DISCARD without MULTI\r\n"},
		{"MULTI x\r\n", "-ERR wrong number of arguments for 'multi' command\r\n"},
		{"MULTI\r\nINCR a\r\nRESET\r\nEXEC\r\nINCR a\r\n", "+OK\r\n" + queued + "+RESET\r\n-ERR EXEC without MULTI\r\n:1\r\n"},
		{"MULTI\r\nQUIT\r\n", "+OK\r\n+OK\r\n"},
		{"MULTI\r\nINCR a\r\nDEL a\r\nEXEC\r\nINCR a\r\n", "+OK\r\n" + queued + "-ERR DEL is not served: this is Snowraft, where a key is a sequence, " +
			"served by INCR, INCRBY, GET and EXISTS; to delete one: snowraft seq delete NAME\r\n" + aborted + ":1\r\n"},
		{"MULTI\r\nINCR a\r\nSET a 3\r\nSET a 0 NX\r\nEXEC\r\nINCR a\r\n", "+OK\r\n" + queued + "-ERR SET is not served: this is Snowraft, where a key is a sequence, " +
			"served by INCR, INCRBY, GET and EXISTS; to set the next number: snowraft seq set NAME NEXT\r\n" + queued + aborted + ":1\r\n"},
		{"MULTI\r\nAUTH x\r\nEXEC\r\n", "+OK\r\n-ERR AUTH is not served in a transaction, which holds commands about keys\r\n" + aborted},
		{"WATCH a\r\n", "-ERR WATCH is not served: a transaction watches no keys. Each INCR is atomic, whatever other clients do\r\n"},

		// Ours: IDs.
		{"SNOWRAFT.ID\r\nsnowraft.id default\r\n", "$1\r\n1\r\n$1\r\n2\r\n"},
		{"SNOWRAFT.ID COUNT 2\r\nSNOWRAFT.ID default count 1\r\n", "*2\r\n$1\r\n1\r\n$1\r\n2\r\n*1\r\n$1\r\n3\r\n"},
		{"HELLO 3\r\nSNOWRAFT.ID COUNT 2\r\n", hello3 + "*2\r\n$1\r\n1\r\n$1\r\n2\r\n"},
		{"SNOWRAFT.ID nosuch\r\n", "-ERR there is no layout nosuch\r\n"},
		{"SNOWRAFT.ID COUNT 0\r\n", "-ERR COUNT is out of range, expected 1 to 100000\r\n"},
		{"SNOWRAFT.ID COUNT x\r\n", notInteger},
		{"SNOWRAFT.ID a b c d\r\n", "-ERR syntax error, expected SNOWRAFT.ID [layout] [COUNT n]\r\n"},
		{"SNOWRAFT.ID a FOO 3\r\n", "-ERR syntax error, expected SNOWRAFT.ID [layout] [COUNT n]\r\n"},

		// Ours: numbers with their texts.
		{"SNOWRAFT.NEXT a\r\nsnowraft.next a count 1\r\n", "*3\r\n$1\r\n1\r\n$1\r\n1\r\n$0\r\n\r\n*1\r\n*3\r\n$1\r\n2\r\n$1\r\n2\r\n$0\r\n\r\n"},
		{"SNOWRAFT.NEXT dated COUNT 2\r\n", "*2\r\n*3\r\n$1\r\n7\r\n$3\r\nD-7\r\n$10\r\n2026-11-28\r\n*3\r\n$2\r\n14\r\n$4\r\nD-14\r\n$10\r\n2026-11-28\r\n"},
		{"SNOWRAFT.NEXT little\r\nSNOWRAFT.NEXT little\r\n", "*3\r\n$1\r\n1\r\n$1\r\n1\r\n$0\r\n\r\n-ERR sequence little is exhausted\r\n"},
		{"SNOWRAFT.NEXT \"\"\r\n", "-ERR key of 0 bytes: expected 1 to 128 bytes\r\n"},
		{"SNOWRAFT.NEXT dated period 2026-10\r\n", "*3\r\n$1\r\n7\r\n$3\r\nD-7\r\n$7\r\n2026-10\r\n"},
		{"SNOWRAFT.NEXT a FROM 5 COUNT 1 PERIOD 2026\r\n", "*1\r\n*3\r\n$1\r\n5\r\n$3\r\nL-5\r\n$4\r\n2026\r\n"},
		{"SNOWRAFT.NEXT a PERIOD 2026 FROM x\r\n", notInteger},
		{"SNOWRAFT.NEXT a PERIOD\r\nSNOWRAFT.NEXT a COUNT 1 COUNT 1\r\n", badNext + badNext},
		{"SNOWRAFT.NEXT a 3\r\n", badNext},
		{"SNOWRAFT.NEXT a COUNT 100001\r\n", "-ERR COUNT is out of range, expected 1 to 100000\r\n"},
		{"SNOWRAFT.NEXT\r\n", "-ERR wrong number of arguments for 'snowraft.next' command\r\n"},

		// Forms of commands.
		{"\r\n\n  \r\nPING\n", "+PONG\r\n"},
		{"*0\r\n*-5\r\n*1\r\n$4\r\nPING\r\n", "+PONG\r\n"},
		{"*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*2\r\n$6\r\nEXISTS\r\n$1\r\na\r\n", ":1\r\n:1\r\n"},
		{"ECHO \"\\x41\\n\\q\"\r\n", "$3\r\nA\nq\r\n"},
		{"ECHO 'a\\'b\\n'\r\n", "$5\r\na'b\\n\r\n"},
		{"ECHO a\"b\"\r\n", "$2\r\nab\r\n"},
		{"PING \"a\r\nPING\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"},
		{"PING \"a\"b\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"},
		{"INCR a\r\n*x\r\nPING\r\n", ":1\r\n-ERR Protocol error: invalid multibulk length\r\n"},
		{"*1\r\nx\r\n", "-ERR Protocol error: expected '$', got 'x'\r\n"},
		{"*1\r\n$x\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		{"*1\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		{"*1\r\n$9223372036854775807\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		{"*9223372036854775807\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
		{"POST / HTTP/1.1\r\nHost: x\r\n\r\nPING\r\n", ""},
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\nPING\r\n", "-ERR wrong number of arguments for 'get' command\r\n"},
	} {
		t.Run(strings.TrimSpace(tc.in), func(t *testing.T) {
			t.Parallel()
			for _, hide := range []bool{false, true} {
				f := &fake{}
				f.add("unused", 7, 1, -1, true)
				f.add("dated", 7, 7, -1, true)
				f.add("down", 10, -2, -1, true)
				f.add("full", 1<<63-2, 1, 2, true)
				f.add("little", 1, 1, 1, true)
				l := listen(t, "127.0.0.1:0")
				if hide {
					l = hidden{l}
				}
				startOn(t, redis.Config{Backend: f, Clock: at(1760000000123)}, l)
				if got := all(t, l.Addr().String(), tc.in); got != tc.want {
					t.Errorf("hidden file descriptor %v: got  %q\nwant %q", hide, got, tc.want)
				}
			}
		})
	}
}
