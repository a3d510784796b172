/** The subpath `prometheus`: a metrics sink that renders the text format of Prometheus. */

export { type PrometheusOptions, type PrometheusSink, prometheusSink } from '../telemetry/index.ts'
export type { MetricsSink } from '../platform/telemetry.ts'
