package io.snowraft.app;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.snowraft.spring.SnowraftProperties;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

class SnowraftPropertiesTest {
    @Test
    void textHasAllSettingsButTheToken() {
        Map<String, String> settings = Map.of("snowraft.addresses", "db1:7701", "snowraft.token", "snowraft_1_secretsecret");
        SnowraftProperties properties = new Binder(new MapConfigurationPropertySource(settings)).bind("snowraft", SnowraftProperties.class).get();
        assertEquals("snowraft_1_secretsecret", properties.token());
        assertEquals("SnowraftProperties[addresses=[db1:7701], token=******, tokenFile=null, caFile=null, systemTrust=false, clearText=false, "
                + "timeout=PT10S, layout=default, holder=, lanes=1, failFast=false, readyTimeout=PT10S]", properties.toString());
    }
}
