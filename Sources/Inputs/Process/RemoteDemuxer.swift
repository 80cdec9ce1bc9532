import Basics
import Codecs
import Threads

/// The demuxer of an input, which runs in a process without rights. It has the shape of `MediaDemuxer`. One thread uses
/// it, which it may block; `ReadInterrupt` ends that, and the process with it.
package final class RemoteDemuxer {
    /// The longest text of an error that the process may tell.
    private static let longestText = 300

    let video: RemoteVideoDecoder?
    let audio: RemoteAudioDecoder?
    /// Whether the source has an end, so that it can be played again from the start.
    private(set) var isFinite = false

    private let process: SourceProcess
    private let interrupt: ReadInterrupt
    private let feed: SourceFeed
    private let released: Guarded<[UInt32]>

    /// Waits until the process has opened the source.
    ///
    /// - Parameter connected: called once, when a connection is there.
    init(
        _ process: SourceProcess, interrupt: ReadInterrupt, feed: SourceFeed, connected: () -> Void = {}
    ) throws {
        (self.process, self.interrupt, self.feed) = (process, interrupt, feed)
        released = Guarded([])
        let reply = try Self.reply(process, interrupt, feed, connected)
        guard case .opened(let streams) = reply, streams.hasVideo || streams.hasAudio else {
            throw process.failed(Channel.Failure.malformed)
        }
        let decoding = RemoteDecoding(process, isCancelled: { interrupt.isCancelled })
        video =
            streams.hasVideo
            ? RemoteVideoDecoder(
                decoding, rotation: Rotation(rawValue: streams.rotation & 3) ?? .none, width: streams.width,
                height: streams.height) : nil
        audio = streams.hasAudio ? RemoteAudioDecoder(decoding) : nil
    }

    /// The number of the process while it runs.
    var processNumber: Int32? { process.number }

    /// Ends the process. Its decoders fail from now on.
    func close() { process.finish() }

    /// The next packet of the chosen streams; nil at the end.
    func next() throws -> InputPacket? {
        let dropped = released.withLock { ids in
            defer { ids.removeAll() }
            return ids
        }
        switch try ask(.next(released: dropped)) {
        case .packet(let packet): return InputPacket(packet, released: released)
        case .end(let isFinite):
            self.isFinite = isFinite
            return nil
        default: throw process.failed(Channel.Failure.malformed)
        }
    }

    /// Goes back to the start. The times of the packets start again, too. Returns false where the format or the server
    /// has no way back.
    func rewind() throws -> Bool {
        guard case .rewound(let isDone) = try ask(.rewind) else { throw process.failed(Channel.Failure.malformed) }
        return isDone
    }

    // MARK: - The process

    private func ask(_ request: SourceRequest) throws -> SourceReply {
        do {
            try process.reading.send(request.message) { [interrupt] in try Self.check(interrupt) }
        } catch {
            throw process.failed(error)
        }
        return try Self.reply(process, interrupt, feed) {}
    }

    private static func check(_ interrupt: ReadInterrupt) throws {
        if interrupt.isCancelled { throw DemuxError.cancelled }
        if interrupt.mustStop { throw DemuxError.timedOut }
    }

    /// Waits for the reply, and answers what the process asks for meanwhile.
    private static func reply(
        _ process: SourceProcess, _ interrupt: ReadInterrupt, _ feed: SourceFeed, _ connected: () -> Void
    ) throws -> SourceReply {
        var isConnected = false
        do {
            while true {
                // Also where the process asks without end.
                try check(interrupt)
                process.renewProcessorTime()
                let message = try process.reading.receive {
                    try check(interrupt)
                    process.renewProcessorTime()
                }
                let reply = try SourceReply(message)
                switch reply {
                case .opened, .packet, .end, .rewound: return reply
                case .failed(let reason, let text): throw error(reason, text, feed)
                case .connected:
                    guard !isConnected else { throw Channel.Failure.malformed }
                    isConnected = true
                    connected()
                case .read, .seek, .nested, .close:
                    guard let answer = try feed.answer(reply) else { continue }
                    try process.reading.send(answer.message) { try check(interrupt) }
                }
            }
        } catch {
            throw process.failed(error)
        }
    }

    private static func error(_ reason: SourceReply.Reason, _ text: String, _ feed: SourceFeed) -> any Error {
        let plain = String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(longestText).map { $0.properties.generalCategory == .control ? " " : $0 }))
        switch reason {
        case .failed: return DemuxError.failed(plain)
        case .noMedia: return DemuxError.noMedia(plain)
        case .redirected: return DemuxError.redirected
        case .timedOut: return DemuxError.timedOut
        case .refused: return feed.failure ?? DemuxError.failed(plain)
        case .sandbox: return SandboxError(reason: plain)
        }
    }
}

/// The system did not take the process its rights. Without that no input is decoded.
struct SandboxError: FinalError, CustomStringConvertible {
    var reason: String
    var isFinal: Bool { true }

    var description: String {
        "inputs are decoded by a process without rights, which this system does not permit (seccomp: \(reason)); run the server where seccomp filters are allowed"
    }
}
