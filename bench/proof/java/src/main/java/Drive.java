import cn.hutool.core.lang.Snowflake;
import com.baomidou.mybatisplus.core.toolkit.Sequence;
import com.github.f4b6a3.tsid.TsidFactory;
import io.snowraft.client.Generator;
import io.snowraft.client.SnowraftClient;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Set;
import java.util.function.LongSupplier;
import me.ahoo.cosid.machine.ClockBackwardsSynchronizer;
import me.ahoo.cosid.machine.DefaultMachineIdGuarder;
import me.ahoo.cosid.machine.InstanceId;
import me.ahoo.cosid.machine.MachineIdDistributor;
import me.ahoo.cosid.machine.MachineStateStorage;
import me.ahoo.cosid.snowflake.ClockSyncSnowflakeId;
import me.ahoo.cosid.snowflake.MillisecondSnowflakeId;
import me.ahoo.cosid.spring.redis.SpringRedisMachineIdDistributor;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/** Calls a library until the process is killed, and prints a line for each call: Drive LIBRARY [ADDRESSES]. */
public final class Drive {
	private static final long PACE_NANOS = 2_000_000;

	private Drive() {}

	/** A generator of CosId whose machine number Redis distributes and guards, put together as cosid-spring-boot-starter does by default. */
	private static LongSupplier cosid(String[] sentinels) {
		LettuceConnectionFactory connections = new LettuceConnectionFactory(new RedisSentinelConfiguration("mymaster", Set.of(sentinels)));
		connections.afterPropertiesSet();
		connections.start();
		MachineIdDistributor distributor = new SpringRedisMachineIdDistributor(
			new StringRedisTemplate(connections), MachineStateStorage.LOCAL, ClockBackwardsSynchronizer.DEFAULT);
		Duration guarded = Duration.ofMinutes(5);
		String host;
		try {
			host = InetAddress.getLocalHost().getHostAddress();
		} catch (UnknownHostException e) {
			throw new UncheckedIOException(e);
		}
		InstanceId instance = InstanceId.of(host, (int) ProcessHandle.current().pid(), false);
		DefaultMachineIdGuarder guarder = new DefaultMachineIdGuarder(distributor, guarded);
		int machine = distributor.distribute("shop", MillisecondSnowflakeId.DEFAULT_MACHINE_BIT, instance, guarded).getMachineId();
		guarder.register("shop", instance);
		guarder.start();
		return new ClockSyncSnowflakeId(new MillisecondSnowflakeId(machine))::generate;
	}

	public static void main(String[] args) throws InterruptedException {
		LongSupplier next = switch (args[0]) {
			case "mybatis-plus" -> new Sequence(null)::nextId;
			case "hutool" -> new Snowflake()::nextId;
			case "tsid" -> {
				TsidFactory factory = new TsidFactory();
				yield () -> factory.create().toLong();
			}
			case "cosid" -> cosid(args[1].split(","));
			case "snowraft" -> {
				Generator generator = SnowraftClient.connect(args[1].split(",")).generator();
				yield generator::next;
			}
			default -> throw new IllegalArgumentException(args[0]);
		};
		PrintStream out = new PrintStream(System.out, true);
		while (true) {
			long began = System.nanoTime();
			try {
				out.println("=" + next.getAsLong());
			} catch (RuntimeException e) {
				out.println("!" + String.valueOf(e.getMessage()).replace('\n', ' '));
			}
			long left = PACE_NANOS - (System.nanoTime() - began);
			if (left > 0) {
				Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
			}
		}
	}
}
