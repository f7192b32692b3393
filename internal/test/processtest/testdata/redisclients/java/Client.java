import com.google.gson.Gson;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslOptions;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DnsResolver;
import io.lettuce.core.resource.SocketAddressResolver;
import java.io.File;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.Response;
import redis.clients.jedis.commands.ProtocolCommand;

/** Uses a Redis library of Java as an application does; see ../main.go for the arguments. */
public final class Client {
  interface Library {
    long incr(String key);

    long incrBy(String key, long n);

    String get(String key);

    List<Long> pipeline(String key);

    Object call(Command command, String... args);
  }

  /** Commands that the libraries do not know. */
  enum Command implements ProtocolCommand, ProtocolKeyword {
    ID,
    NEXT;

    @Override
    public byte[] getRaw() {
      return getBytes();
    }

    @Override
    public byte[] getBytes() {
      return ("SNOWRAFT." + name()).getBytes(StandardCharsets.US_ASCII);
    }
  }

  public static void main(String[] args) throws Exception {
    String key = args[0];
    boolean several = args[1].equals("several");
    List<String> addresses = several ? List.of(args).subList(2, args.length) : List.of(args[2]);
    String token = args[1].equals("secured") ? args[3] : null;
    Library library = args[0].startsWith("jedis") ? jedis(addresses, token) : lettuce(addresses, token);
    if (several) {
      survive(library, key);
    } else {
      Map<String, Object> out = new LinkedHashMap<>();
      out.put("incr", library.incr(key));
      out.put("incrby", library.incrBy(key, 9));
      out.put("get", library.get(key));
      out.put("pipeline", library.pipeline(key));
      out.put("ids", library.call(Command.ID, "COUNT", "3"));
      out.put("next", library.call(Command.NEXT, "bills"));
      out.put("late", library.call(Command.NEXT, "receipts", "PERIOD", System.getenv("LAST_YEAR")));
      System.out.println(new Gson().toJson(out));
    }
    System.exit(0);
  }

  static void survive(Library library, String key) throws Exception {
    do {
      for (int i = 0; i < 4; i++) {
        while (true) {
          try {
            library.incr(key + "/" + i);
            break;
          } catch (RuntimeException e) {
            System.err.println(e);
            Thread.sleep(20);
          }
        }
      }
      System.out.println("took numbers");
    } while (System.in.read() >= 0);
  }

  static Library jedis(List<String> addresses, String token) throws Exception {
    HostAndPort address = HostAndPort.from(addresses.get(0));
    if (addresses.size() > 1) {
      address = new HostAndPort(nameOf(addresses), address.getPort());
    }
    DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder();
    if (token != null) {
      config.password(token).ssl(true).sslSocketFactory(trusting(Path.of(System.getenv("CA"))).getSocketFactory());
    }
    JedisPool pool = new JedisPool(address, config.build());
    return new Library() {
      <T> T with(Function<Jedis, T> use) {
        try (Jedis connection = pool.getResource()) {
          return use.apply(connection);
        }
      }

      public long incr(String key) {
        return with(c -> c.incr(key));
      }

      public long incrBy(String key, long n) {
        return with(c -> c.incrBy(key, n));
      }

      public String get(String key) {
        return with(c -> c.get(key));
      }

      public List<Long> pipeline(String key) {
        return with(c -> {
          var transaction = c.multi();
          List<Response<Long>> answers = List.of(transaction.incr(key), transaction.incr(key), transaction.incr(key));
          transaction.exec();
          return answers.stream().map(Response::get).toList();
        });
      }

      public Object call(Command command, String... args) {
        return with(c -> text(c.sendCommand(command, args)));
      }
    };
  }

  /** Makes a name of all members, as a name in a DNS would be. No host name may have been used before. */
  static String nameOf(List<String> addresses) throws Exception {
    String name = "members.test";
    Path hosts = Files.createTempFile("hosts", "");
    hosts.toFile().deleteOnExit();
    Files.write(hosts, addresses.stream().map(address -> HostAndPort.from(address).getHost() + " " + name).toList());
    System.setProperty("jdk.net.hosts.file", hosts.toString());
    return name;
  }

  static SSLContext trusting(Path ca) throws Exception {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null);
    try (InputStream pem = Files.newInputStream(ca)) {
      store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(store);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return context;
  }

  static Object text(Object answer) {
    if (answer instanceof List<?> list) {
      return list.stream().map(Client::text).toList();
    }
    return answer instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8) : answer;
  }

  static Library lettuce(List<String> addresses, String token) {
    RedisURI uri = RedisURI.create("redis://" + addresses.get(0));
    ClientOptions.Builder options = ClientOptions.builder();
    if (token != null) {
      uri = RedisURI.create("rediss://:" + token + "@" + addresses.get(0));
      options.sslOptions(SslOptions.builder().trustManager(new File(System.getenv("CA"))).build());
    }
    ClientResources.Builder resources = ClientResources.builder();
    if (addresses.size() > 1) {
      AtomicInteger tries = new AtomicInteger();
      resources.socketAddressResolver(new SocketAddressResolver(DnsResolver.unresolved()) {
        @Override
        public SocketAddress resolve(RedisURI any) {
          HostAndPort next = HostAndPort.from(addresses.get(tries.getAndIncrement() % addresses.size()));
          return new InetSocketAddress(next.getHost(), next.getPort());
        }
      });
    }
    RedisClient client = RedisClient.create(resources.build(), uri);
    client.setOptions(options.build());
    RedisCommands<String, String> commands = client.connect().sync();
    return new Library() {
      public long incr(String key) {
        return commands.incr(key);
      }

      public long incrBy(String key, long n) {
        return commands.incrby(key, n);
      }

      public String get(String key) {
        return commands.get(key);
      }

      public List<Long> pipeline(String key) {
        commands.multi();
        for (int i = 0; i < 3; i++) {
          commands.incr(key);
        }
        return commands.exec().stream().map(n -> (Long) n).collect(Collectors.toList());
      }

      public Object call(Command command, String... args) {
        CommandArgs<String, String> all = new CommandArgs<>(StringCodec.UTF8);
        Stream.of(args).forEach(all::add);
        return commands.dispatch(command, new NestedMultiOutput<>(StringCodec.UTF8), all);
      }
    };
  }
}
