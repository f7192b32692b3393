package io.snowraft.hibernate;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.hibernate.annotations.IdGeneratorType;

/**
 * Makes Hibernate take the ID of an entity from a {@link io.snowraft.client.Generator}, in memory. The member, which also has the
 * annotation {@code @Id}, is of the type {@code long}, {@code Long} or {@code String}; a string gets the decimal digits of the ID.
 * Layouts of 64 bits may issue IDs that are negative as {@code long}.
 *
 * <p>Hibernate takes the generator from its setting {@value SnowraftIdGenerator#SETTING}. Without that setting, it takes the bean of this
 * type from its bean container, such as that of Spring.
 */
@IdGeneratorType(SnowraftIdGenerator.class)
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.FIELD, ElementType.METHOD})
public @interface SnowraftId {
    /**
     * Names the generator, if there are several: the bean has this name, or the setting is {@value SnowraftIdGenerator#SETTING} with a dot
     * and this name.
     */
    String generator() default "";
}
