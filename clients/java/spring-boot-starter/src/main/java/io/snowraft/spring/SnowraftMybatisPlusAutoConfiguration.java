package io.snowraft.spring;

import com.baomidou.mybatisplus.core.incrementer.IdentifierGenerator;
import io.snowraft.client.Generator;
import io.snowraft.mybatisplus.SnowraftIdentifierGenerator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Makes MyBatis-Plus take the IDs of entities with {@code IdType.ASSIGN_ID}, its default, from the generator. */
@AutoConfiguration(after = SnowraftAutoConfiguration.class,
        beforeName = "com.baomidou.mybatisplus.autoconfigure.IdentifierGeneratorAutoConfiguration")
@ConditionalOnClass(IdentifierGenerator.class)
public class SnowraftMybatisPlusAutoConfiguration {
    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnBean(Generator.class)
    IdentifierGenerator snowraftIdentifierGenerator(Generator ids) {
        return new SnowraftIdentifierGenerator(ids);
    }
}
