package io.snowraft.hibernate;

import io.snowraft.client.Generator;
import org.hibernate.MappingException;
import org.hibernate.engine.config.spi.ConfigurationService;
import org.hibernate.resource.beans.container.spi.BeanContainer;
import org.hibernate.resource.beans.spi.BeanInstanceProducer;
import org.hibernate.resource.beans.spi.ManagedBeanRegistry;
import org.hibernate.service.ServiceRegistry;

/** Finds generators in the settings and in the bean container of Hibernate. */
final class Generators {
    private Generators() {
    }

    /** Returns the generator of a name; empty for the only one. */
    static Generator find(String name, String place, ServiceRegistry services) {
        String setting = name.isEmpty() ? SnowraftIdGenerator.SETTING : SnowraftIdGenerator.SETTING + "." + name;
        Object found = services.getService(ConfigurationService.class).getSettings().get(setting);
        if (found instanceof Generator generator) {
            return generator;
        } else if (found != null) {
            throw new MappingException("setting " + setting + ": expected an " + Generator.class.getName() + ", not a text or another object");
        }
        Missing missing = new Missing("@SnowraftId on " + place + ": missing generator; define a bean of the type " + Generator.class.getName()
                + (name.isEmpty() ? "" : " with the name " + name) + ", or set " + setting + " of Hibernate to such an object");
        BeanContainer beans = services.getService(ManagedBeanRegistry.class).getBeanContainer();
        if (beans == null) {
            throw missing.exception();
        } else if (name.isEmpty()) {
            return beans.getBean(Generator.class, Shared.INSTANCE, missing).getBeanInstance();
        }
        return beans.getBean(name, Generator.class, Shared.INSTANCE, missing).getBeanInstance();
    }

    /** Requests the bean that the application uses itself. */
    private enum Shared implements BeanContainer.LifecycleOptions {
        INSTANCE;

        @Override
        public boolean canUseCachedReferences() {
            return true;
        }

        @Override
        public boolean useJpaCompliantCreation() {
            return false;
        }
    }

    /** Fails where Hibernate would create a generator, because the container has none. */
    private record Missing(String text) implements BeanInstanceProducer {
        MappingException exception() {
            return new MappingException(text);
        }

        @Override
        public <B> B produceBeanInstance(Class<B> beanType) {
            throw exception();
        }

        @Override
        public <B> B produceBeanInstance(String name, Class<B> beanType) {
            throw exception();
        }
    }
}
