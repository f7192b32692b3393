package org.crac;

/** A stand-in of the API of CRaC. */
public final class Core {
    private static final Context<Resource> GLOBAL = new Context<>();

    private Core() {
    }

    public static Context<Resource> getGlobalContext() {
        return GLOBAL;
    }
}
