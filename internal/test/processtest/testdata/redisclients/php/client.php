<?php

// Uses a Redis library of PHP as an application does; see ../main.go for the arguments.

require 'Predis/autoload.php';

$open = [
    'php-redis' => function (string $host, int $port, ?string $token): Redis {
        $client = new Redis();
        if ($token === null) {
            $client->connect($host, $port);
        } else {
            $client->connect("tls://$host", $port, 0, null, 0, 0, ['stream' => ['cafile' => getenv('CA')]]);
            $client->auth($token);
        }
        return $client;
    },
    'php-nrk-predis' => function (string $host, int $port, ?string $token): Predis\Client {
        $parameters = ['host' => $host, 'port' => $port];
        if ($token !== null) {
            $parameters += ['scheme' => 'tls', 'password' => $token, 'ssl' => ['cafile' => getenv('CA')]];
        }
        return new Predis\Client($parameters);
    },
];
$transaction = [
    'php-redis' => fn (Redis $c, string $key) => $c->multi()->incr($key)->incr($key)->incr($key)->exec(),
    'php-nrk-predis' => fn (Predis\Client $c, string $key) => $c->transaction()->incr($key)->incr($key)->incr($key)->execute(),
];
$call = [
    'php-redis' => fn (Redis $c, string ...$words) => $c->rawCommand(...$words),
    'php-nrk-predis' => fn (Predis\Client $c, string ...$words) => $c->executeRaw($words),
];

// survive takes numbers by a client of one address, and after an error by a client of the next address.
function survive(callable $open, array $addresses, string $key): void
{
    $client = null;
    do {
        for ($i = 0; $i < 4;) {
            try {
                $client ??= $open(...[...explode(':', $addresses[0]), null]);
                $client->incr("$key/$i");
                $i++;
            } catch (RedisException | Predis\PredisException $e) {
                fwrite(STDERR, $e->getMessage() . "\n");
                usleep(20_000);
                $client = null;
                $addresses[] = array_shift($addresses);
            }
        }
        echo "took numbers\n";
    } while (fgets(STDIN) !== false);
}

[, $library, $mode] = $argv;
$args = array_slice($argv, 3);
if ($mode === 'several') {
    survive($open[$library], $args, $library);
    exit;
}
$client = $open[$library](...[...explode(':', $args[0]), $args[1] ?? null]);
echo json_encode([
    'incr' => $client->incr($library),
    'incrby' => $client->incrby($library, 9),
    'get' => $client->get($library),
    'pipeline' => $transaction[$library]($client, $library),
    'ids' => $call[$library]($client, 'SNOWRAFT.ID', 'COUNT', '3'),
    'next' => $call[$library]($client, 'SNOWRAFT.NEXT', 'bills'),
    'late' => $call[$library]($client, 'SNOWRAFT.NEXT', 'receipts', 'PERIOD', getenv('LAST_YEAR')),
]);
