import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Objects;

import me.ahoo.cosid.segment.DefaultSegmentId;
import me.ahoo.cosid.segment.IdSegmentDistributor;
import me.ahoo.cosid.segment.SegmentChainId;
import me.ahoo.cosid.segment.SegmentId;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.support.RestClientAdapter;
import org.springframework.web.service.annotation.HttpExchange;
import org.springframework.web.service.annotation.PatchExchange;
import org.springframework.web.service.annotation.PostExchange;
import org.springframework.web.service.invoker.HttpServiceProxyFactory;

/**
 * Issues IDs of CosId's generators whose segments come from the proxy at a URL. Each line of the input is a command; the answer ends with
 * a line "done". The arguments are the URL, and a token or nothing.
 */
public class Segments {
    /** The calls of CosId's proxy client, which is an interface of Spring too. */
    @HttpExchange
    interface Proxy {
        @PostExchange("/segments/distributor/{namespace}/{name}")
        void create(@PathVariable String namespace, @PathVariable String name, @RequestParam long offset, @RequestParam long step);

        @PatchExchange("/segments/{namespace}/{name}")
        long nextMaxId(@PathVariable String namespace, @PathVariable String name, @RequestParam long step);

        @PostExchange("/machines/{namespace}")
        String distribute(@PathVariable String namespace, @RequestParam int machineBit, @RequestParam String instanceId, @RequestParam boolean stable,
            @RequestParam String safeGuardDuration);
    }

    private final Proxy proxy;
    private SegmentId generator;

    Segments(String url, String token) {
        RestClient.Builder http = RestClient.builder().baseUrl(url);
        if (!token.isEmpty()) {
            http.defaultHeader("Authorization", "Bearer " + token);
        }
        proxy = HttpServiceProxyFactory.builderFor(RestClientAdapter.create(http.build())).build().createClient(Proxy.class);
    }

    public static void main(String[] args) throws Exception {
        Segments program = new Segments(args[0], args.length > 1 ? args[1] : "");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null;) {
            try {
                program.run(line.split(" "));
            } catch (RuntimeException e) {
                System.out.println("failed: " + e.getMessage());
            }
            System.out.println("done");
        }
        System.exit(0); // the prefetching threads of CosId are no daemons
    }

    private void run(String[] command) {
        switch (command[0]) {
            case "segment" -> generator = new DefaultSegmentId(distributor(command));
            case "chain" -> generator = new SegmentChainId(distributor(command));
            case "take" -> take(Integer.parseInt(command[1]));
            case "machine" -> System.out.println(proxy.distribute(command[1], 10, "10.0.0.1:8080", false, "PT5M"));
            default -> throw new IllegalArgumentException(command[0]);
        }
    }

    private IdSegmentDistributor distributor(String[] command) {
        String namespace = command[1], name = command[2];
        long step = Long.parseLong(command[3]);
        proxy.create(namespace, name, 0, step);
        return new IdSegmentDistributor() {
            @Override
            public String getNamespace() {
                return namespace;
            }

            @Override
            public String getName() {
                return name;
            }

            @Override
            public long getStep() {
                return step;
            }

            @Override
            public long nextMaxId(long count) {
                return proxy.nextMaxId(namespace, name, count);
            }
        };
    }

    /** Issues IDs, and repeats a request that fails, like a program that its users call again. */
    private void take(int count) {
        Objects.requireNonNull(generator, "no generator");
        boolean failed = false;
        while (count > 0) {
            try {
                System.out.println(generator.generate());
                count--;
            } catch (RuntimeException e) {
                if (!failed) {
                    System.out.println("once: " + e.getMessage());
                }
                failed = true;
                pause();
            }
        }
    }

    private static void pause() {
        try {
            Thread.sleep(20);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
