<?php
// An order service: POST /orders answers an ID and a number, such as {"id":"253081673229410738","number":"ORD-00001"}.
// It needs the extension redis (Debian: php-redis):  php -S 127.0.0.1:8080 orders.php
declare(strict_types=1);

// connect returns a connection to the first member that answers, and begins with another member for each request.
function connect(array $members): Redis
{
    shuffle($members);
    foreach ($members as $member) {
        [$host, $port] = explode(':', $member);
        try {
            $redis = new Redis();
            $redis->connect($host, (int) $port, 1.0, null, 0, 2.0); // seconds to connect and to read
            if (getenv('SNOWRAFT_TOKEN')) {
                $redis->auth(getenv('SNOWRAFT_TOKEN'));
            }
            return $redis;
        } catch (RedisException $e) {
            error_log("$member: " . $e->getMessage());
        }
    }
    throw new RedisException('no member can be reached');
}

// order returns the ID and the number of a new order. If a member fails meanwhile, another one gives both. The number that the
// failed member may have taken is then skipped; no number comes twice.
function order(array $members): array
{
    for ($try = 1; ; $try++) {
        try {
            $redis = connect($members);
            $id = $redis->rawCommand('SNOWRAFT.ID');
            $number = $redis->rawCommand('SNOWRAFT.NEXT', 'orders');
            if ($id === false || $number === false) { // an error of the cluster, such as one without a leader
                throw new RedisException($redis->getLastError());
            }
            return ['id' => $id, 'number' => $number[1]];
        } catch (RedisException $e) {
            if ($try === 5) {
                throw $e;
            }
            usleep(200_000 * $try);
        }
    }
}

if ($_SERVER['REQUEST_METHOD'] !== 'POST' || $_SERVER['REQUEST_URI'] !== '/orders') {
    http_response_code(404);
    return;
}
header('Content-Type: application/json');
try {
    $order = order(explode(',', getenv('SNOWRAFT_MEMBERS'))); // the members' addresses of the Redis protocol
    http_response_code(201); // a real service inserts the order first, with a unique index on the number
    echo json_encode($order);
} catch (RedisException $e) {
    http_response_code(503);
    echo json_encode(['error' => $e->getMessage()]);
}
