// The operations about the numbers of gapless sequences. of returns the sequence of the arguments.
export const reservationOps = (of) => ({
  reserve: async (args) => ({
    reservations: (await of(args).reserve(args.keys)).map((r) => ({
      key: r.key, number: `${r.number}`, text: r.text, reservation: `${r.reservation}`, attempt: r.attempt, confirmed: r.confirmed,
    })),
  }),
  confirm: async (args) => {
    await of(args).confirm(claims(args));
    return {};
  },
  void: async (args) => {
    await of(args).void(claims(args), args.reason);
    return {};
  },
  reconcile: async (args) => await of(args).reconcile(0, ({ key }) => {
    if (args.used.includes(key)) {
      return { fate: "used" };
    }
    return args.void.includes(key) ? { fate: "void", reason: "not in the database" } : { fate: "leave" };
  }),
});

function claims(args) {
  return args.claims.map((c) => ({ key: c.key, reservation: BigInt(c.reservation), attempt: c.attempt }));
}
