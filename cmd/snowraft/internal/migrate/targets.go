package migrate

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/lib/pq"
)

// target is a kind of system that sequences can move to.
//
// The statements set a counter to a number such that every later number of it is at or beyond the next one of the departure. They
// never lower a counter, so they may be run again, even after the counter has moved on, and with a wrong mapping.
type target struct {
	name, short, long, example string

	begin string // before the statements of the first counter
	check func(*departure) error
	write func(*departure) string // statements with line ends
}

var targets = []target{
	{
		name: "redis", short: "Move sequences to Redis",
		long: `Move sequences to keys of Redis, and print a command per key, which redis-cli reads from
standard input. It replaces the text of the fence by the last number, and fails on other
texts.`,
		example: `  snowraft export redis 'orders/*' --map 'order:*=orders/*'
  snowraft export redis orders --apply`,
		check: func(d *departure) error { return d.checkUp(1) },
		write: writeRedis,
	},
	{
		name: "postgres", short: "Move sequences to PostgreSQL",
		long: `Move sequences to sequences of PostgreSQL, which must exist, and print a transaction
per sequence, which psql reads. It removes the last number of the fence (MAXVALUE).`,
		example: `  snowraft export postgres orders_id_seq
  snowraft export postgres orders_id_seq --apply`,
		check: func(*departure) error { return nil },
		write: writePostgres,
	},
	{
		name: "mysql", short: "Move sequences to AUTO_INCREMENT columns of MySQL or MariaDB",
		long: `Move sequences to the AUTO_INCREMENT columns of tables of MySQL or MariaDB, and print
statements, which the client of the database reads. They drop the trigger of the fence.`,
		example: `  snowraft export mysql 'shop/*' --map '*=shop/*'
  snowraft export mysql orders --apply`,
		begin: "/*!80000 SET SESSION information_schema_stats_expiry = 0 */;\n", // else MySQL shows a counter that is a day old
		check: checkSQL(1),
		write: writeMySQL,
	},
	{
		name: "leaf", short: "Move sequences to the table leaf_alloc of Leaf",
		long: `Move sequences to rows of the table leaf_alloc of Leaf's segment mode, which must exist,
and print statements for MySQL. They give the keys that the fence renamed their names
again.`,
		example: `  snowraft export leaf orders
  snowraft export leaf orders --holders-stopped --apply`,
		check: checkSQL(math.MinInt64),
		write: func(d *departure) string { return writeSegment(d, "leaf_alloc", "biz_tag") },
	},
	{
		name: "tinyid", short: "Move sequences to the table tiny_id_info of tinyid",
		long: `Move sequences to rows of the table tiny_id_info of tinyid, which must exist, and print
statements for MySQL. They give the keys that the fence renamed their names again.`,
		example: `  snowraft export tinyid orders
  snowraft export tinyid orders --holders-stopped --apply`,
		check: checkSQL(math.MinInt64),
		write: func(d *departure) string { return writeSegment(d, "tiny_id_info", "biz_type") },
	},
	{
		name: "csv", short: "Move sequences to a list of counters",
		long: `Move sequences to counters of any system, and print their last numbers as "snowraft import
csv" reads them. That system must issue only numbers that follow these.`,
		example: `  snowraft export csv 'orders/*'
  snowraft export csv 'orders/*' --apply`,
		begin: "name,last,increment\n",
		check: (*departure).checkLast,
		write: writeCSV,
	},
}

// raiseKey sets a key to a number, unless it has a greater one or a text that is not of the fence. It compares digits, because
// numbers of Lua are exact up to 2^53 only.
const raiseKey = "local v = redis.call('GET', KEYS[1]) " +
	"local n = v and (string.match(v, '^" + movedAt + "(%-?%d+)$') or string.match(v, '^%-?%d+$')) " +
	"if v and not n then return redis.error_reply('not a counter: ' .. KEYS[1]) end " +
	"if not n or string.sub(n, 1, 1) == '-' or #n < #ARGV[1] or #n == #ARGV[1] and n < ARGV[1] then n = ARGV[1] end " +
	"if v ~= n then redis.call('SET', KEYS[1], n) end return n"

func writeRedis(d *departure) string {
	return fmt.Sprintf("EVAL %s 1 %s %d\n", redisArgument(raiseKey), redisArgument(d.Counter), d.next-1)
}

// redisArgument returns a text as redis-cli reads it.
func redisArgument(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b.Write([]byte{'\\', c})
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, "\\x%02x", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func writePostgres(d *departure) string {
	schema, name, ok := strings.Cut(d.Counter, ".")
	if !ok {
		schema, name = "public", d.Counter
	}
	sequence := pq.QuoteIdentifier(schema) + "." + pq.QuoteIdentifier(name)
	bound, farther, beyond := "NO MAXVALUE", "GREATEST", ">="
	switch {
	case d.increment < 0:
		bound, farther, beyond = "NO MINVALUE", "LEAST", "<="
	case d.most < math.MaxInt64:
		bound = "MAXVALUE " + strconv.FormatInt(d.most, 10)
	}
	return fmt.Sprintf(`BEGIN;
ALTER SEQUENCE %s %s;
SELECT setval(%s, %s(%d, last_value), last_value %s %[5]d AND is_called) FROM %[1]s;
COMMIT;
`, sequence, bound, pq.QuoteLiteral(sequence), farther, d.next, beyond)
}

// checkSQL accepts names that MySQL can quote in every sql_mode.
func checkSQL(least int64) func(*departure) error {
	return func(d *departure) error {
		if strings.Contains(d.Counter, `\`) {
			return errors.New(`the name of the counter contains a backslash`)
		}
		return d.checkUp(least)
	}
}

func writeMySQL(d *departure) string {
	return fmt.Sprintf(`SET @next = (SELECT GREATEST(%d, IFNULL(AUTO_INCREMENT, 1)) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = %s);
SET @statement = CONCAT(%s, @next);
PREPARE raise FROM @statement;
EXECUTE raise;
DEALLOCATE PREPARE raise;
DROP TRIGGER IF EXISTS %s;
`, d.next, sqlText(d.Counter), sqlText("ALTER TABLE "+backticks(d.Counter)+" AUTO_INCREMENT = "), backticks(triggerName(d.Counter)))
}

func sqlText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// writeSegment continues a row from which servers take segments. Leaf's begin at max_id, tinyid's after it.
func writeSegment(d *departure, table, key string) string {
	name := sqlText(d.Counter)
	return fmt.Sprintf(`UPDATE %s SET %s = %s, max_id = GREATEST(max_id, %d) WHERE %[2]s IN (%[5]s, %[3]s);
SELECT %[2]s, max_id FROM %[1]s WHERE %[2]s = %[3]s;
`, table, key, name, d.next, sqlText(movedKey+d.Counter))
}

func writeCSV(d *departure) string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{d.Counter, strconv.FormatInt(d.last(), 10), strconv.FormatInt(d.increment, 10)}) // a buffer takes all
	w.Flush()
	return b.String()
}
