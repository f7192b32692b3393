/* Uses hiredis as an application does; see ../main.go for the arguments. It has no TLS before version 1.0. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *key;

static void fail(const char *what, redisContext *c) {
  fprintf(stderr, "%s: %s\n", what, c == NULL ? "no memory" : c->errstr);
  exit(1);
}

static redisContext *open_address(const char *address) {
  char host[64];
  const char *colon = strchr(address, ':');
  snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
  return redisConnect(host, atoi(colon + 1));
}

/* must returns a reply of a type. */
static redisReply *must(redisContext *c, int type, redisReply *r) {
  if (r == NULL) fail("connection", c);
  if (r->type != type) {
    fprintf(stderr, "reply of type %d: %s\n", r->type, r->str == NULL ? "" : r->str);
    exit(1);
  }
  return r;
}

/* print prints a reply as JSON. */
static void print(const redisReply *r) {
  switch (r->type) {
    case REDIS_REPLY_INTEGER:
      printf("%lld", r->integer);
      break;
    case REDIS_REPLY_STRING:
      printf("\"%s\"", r->str);
      break;
    case REDIS_REPLY_ARRAY:
      for (size_t i = 0; i < r->elements; i++) {
        printf(i == 0 ? "[" : ",");
        print(r->element[i]);
      }
      printf("]");
      break;
  }
}

static void note(const char *name, redisContext *c, int type, void *reply) {
  printf("\"%s\":", name);
  print(must(c, type, reply));
  printf(",");
}

static void use(const char *address, const char *token) {
  redisContext *c = open_address(address);
  if (c == NULL || c->err) fail("connect", c);
  if (token != NULL) must(c, REDIS_REPLY_STATUS, redisCommand(c, "AUTH %s", token));
  printf("{");
  note("incr", c, REDIS_REPLY_INTEGER, redisCommand(c, "INCR %s", key));
  note("incrby", c, REDIS_REPLY_INTEGER, redisCommand(c, "INCRBY %s 9", key));
  note("get", c, REDIS_REPLY_STRING, redisCommand(c, "GET %s", key));
  for (int i = 0; i < 3; i++) redisAppendCommand(c, "INCR %s", key);
  printf("\"pipeline\":[");
  for (int i = 0; i < 3; i++) {
    void *reply;
    if (redisGetReply(c, &reply) != REDIS_OK) fail("pipeline", c);
    if (i > 0) printf(",");
    print(must(c, REDIS_REPLY_INTEGER, reply));
  }
  printf("],");
  note("ids", c, REDIS_REPLY_ARRAY, redisCommand(c, "SNOWRAFT.ID COUNT 3"));
  note("next", c, REDIS_REPLY_ARRAY, redisCommand(c, "SNOWRAFT.NEXT bills"));
  printf("\"late\":");
  print(must(c, REDIS_REPLY_ARRAY, redisCommand(c, "SNOWRAFT.NEXT receipts PERIOD %s", getenv("LAST_YEAR"))));
  printf("}\n");
}

/* survive takes numbers at one address, and after an error at the next address. */
static void survive(int n, char **addresses) {
  char line[8];
  int at = 0;
  redisContext *c = open_address(addresses[at]);
  do {
    for (int i = 0; i < 4;) {
      redisReply *r = c == NULL || c->err ? NULL : redisCommand(c, "INCR %s/%d", key, i);
      if (r != NULL && r->type == REDIS_REPLY_INTEGER) {
        i++;
        continue;
      }
      fprintf(stderr, "%s\n", c != NULL && c->err ? c->errstr : "no number");
      usleep(20000);
      if (c != NULL) redisFree(c);
      at = (at + 1) % n;
      c = open_address(addresses[at]);
    }
    printf("took numbers\n");
    fflush(stdout);
  } while (fgets(line, sizeof line, stdin) != NULL);
}

int main(int argc, char **argv) {
  key = argv[1];
  if (strcmp(argv[2], "several") == 0)
    survive(argc - 3, argv + 3);
  else
    use(argv[3], argc > 4 ? argv[4] : NULL);
}
