package io.snowraft.hibernate;

import io.snowraft.client.Generator;
import io.snowraft.client.SnowraftException;
import java.lang.reflect.Member;
import java.util.EnumSet;
import java.util.function.LongFunction;
import org.hibernate.MappingException;
import org.hibernate.engine.spi.SharedSessionContractImplementor;
import org.hibernate.generator.AnnotationBasedGenerator;
import org.hibernate.generator.BeforeExecutionGenerator;
import org.hibernate.generator.EventType;
import org.hibernate.generator.EventTypeSets;
import org.hibernate.generator.GeneratorCreationContext;

/** Issues the IDs of the members with the annotation {@link SnowraftId}. Hibernate creates one per entity. */
public final class SnowraftIdGenerator implements BeforeExecutionGenerator, AnnotationBasedGenerator<SnowraftId> {
    /**
     * The setting of Hibernate for the generator, an object of the type {@link Generator}. The settings of further generators end with a
     * dot and a name; see {@link SnowraftId#generator}.
     */
    public static final String SETTING = "snowraft.generator";

    private static final long serialVersionUID = 1L;

    private transient Generator ids;
    private transient LongFunction<Object> type;

    /** Finds the generator. It fails with a {@link MappingException} if there is none, or if the member has another type. */
    @Override
    public void initialize(SnowraftId annotation, Member member, GeneratorCreationContext context) {
        String place = member.getDeclaringClass().getName() + "." + member.getName();
        type = type(context.getProperty().getType().getReturnedClass(), place);
        ids = Generators.find(annotation.generator(), place, context.getServiceRegistry());
    }

    private static LongFunction<Object> type(Class<?> type, String place) {
        if (type == Long.class || type == long.class) {
            return id -> id;
        } else if (type == String.class) {
            return Long::toUnsignedString;
        }
        throw new MappingException("@SnowraftId on " + place + ": the type is " + type.getName() + "; use long, Long or String");
    }

    /** Returns an ID, as {@link Generator#next()} does: it waits for at most the client's timeout, and throws a {@link SnowraftException}. */
    @Override
    public Object generate(SharedSessionContractImplementor session, Object owner, Object currentValue, EventType eventType) {
        return type.apply(ids.next());
    }

    @Override
    public EnumSet<EventType> getEventTypes() {
        return EventTypeSets.INSERT_ONLY;
    }
}
