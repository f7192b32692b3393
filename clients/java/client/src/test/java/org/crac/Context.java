package org.crac;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A stand-in of the API of CRaC. */
public class Context<R extends Resource> {
    public final List<R> registered = new CopyOnWriteArrayList<>();

    public void register(R resource) {
        registered.add(resource);
    }
}
