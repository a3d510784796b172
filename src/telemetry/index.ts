/** Where measurements go: adapters of metrics sinks and tracers for OpenTelemetry and Prometheus */

export {
  type MeterLike,
  openTelemetryMetrics,
  openTelemetryTracer,
  type OpenTelemetryOptions,
  type SpanLike,
  type TracerLike,
} from './opentelemetry.ts'
export { type PrometheusOptions, type PrometheusSink, prometheusSink } from './prometheus.ts'
