export default {
    test: {
        globals: true,
        include: ["test/**/*.test.mjs"],
        testTimeout: 30_000,
        hookTimeout: 60_000,
    },
};
