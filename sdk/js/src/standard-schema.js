// The interface of Standard Schema, which zod, valibot and others implement.

/**
 * @template [V=unknown]
 * @typedef {{ "~standard": { validate: (value: unknown) => SchemaResult<V> | Promise<SchemaResult<V>> } }} StandardSchema
 */

/**
 * @template V
 * @typedef {{ value: V, issues?: undefined } | { issues: readonly { message: string }[] }} SchemaResult
 */

export {};
