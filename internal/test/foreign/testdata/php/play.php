<?php
// Prints IDs with the fields of the layout leaf: php play.php DIRECTORY COUNT. It claims its worker with the function of the page.
require __DIR__ . '/claim.php';
[$file, $values] = claim($argv[1]);
$last = $sequence = 0;
for ($made = 0; $made < (int)$argv[2]; $made++) {
    $now = (int)(microtime(true) * 1000) - 1288834974657;
    if ($now <= $last) {
        $now = $last;
        if (++$sequence === 4096) {
            while ($now <= $last) $now = (int)(microtime(true) * 1000) - 1288834974657;
        }
    }
    if ($now > $last) {
        [$last, $sequence] = [$now, 0];
    }
    echo $last << 22 | $values['WORKER'] << 12 | $sequence, "\n";
}
