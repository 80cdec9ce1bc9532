import Basics
import Logging
import RoomMedia
import Streaming

/// What the HLS streams of all rooms share: their memory, and the log of streams that cannot be made.
final class HLSControl: Sendable {
    let memory = HLSMemory()
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    /// A stream for a room; nil where none can be made.
    func make(for room: String, _ engine: RoomEngine) -> RoomHLS? {
        do {
            return try RoomHLS(memory: memory, engine: engine)
        } catch {
            logger.error("no HLS stream: \(error)", metadata: ["room": "\(room)"])
            return nil
        }
    }

    /// The samples of the metrics page.
    func samples(_ streams: [RoomHLS]) -> [MetricSample] {
        [
            MetricSample(
                "tessera_hls_streams", "Rooms whose HLS stream takes their picture.", .gauge,
                Double(streams.count { $0.view != nil })),
            MetricSample(
                "tessera_hls_bytes", "Media of HLS streams in memory.", .gauge, Double(memory.byteCount)),
            MetricSample(
                "tessera_hls_waiting", "Requests of players that wait for the next media.", .gauge,
                Double(streams.reduce(0) { $0 + $1.stream.waiting })),
        ]
    }
}
