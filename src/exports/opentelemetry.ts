/** The subpath `opentelemetry`: metrics and spans for meters and tracers of `@opentelemetry/api`. */

export {
  type MeterLike,
  openTelemetryMetrics,
  openTelemetryTracer,
  type OpenTelemetryOptions,
  type SpanLike,
  type TracerLike,
} from '../telemetry/index.ts'
export type { MetricsSink, Tracer } from '../platform/telemetry.ts'
