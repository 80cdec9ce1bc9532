import Basics
import CSandbox
import Codecs
import Glibc
import Threads

/// The thread of the worker that opens the source and reads its packets, as the server asks for them.
final class WorkerReader {
    private let channel: Channel
    private let packets: WorkerPackets

    init(_ channel: Channel, _ packets: WorkerPackets) { (self.channel, self.packets) = (channel, packets) }

    /// Runs until the server closes the channel.
    func run() throws {
        var descriptors: [Int32] = []
        let first = try SourceRequest(try channel.receive(&descriptors, most: Int(SANDBOX_DESCRIPTORS)))
        guard case .open(let opening) = first, let memory = descriptors.first else { return }
        guard let pictures = Self.map(memory, opening.maxPixels) else { return }
        let own = Array(descriptors.dropFirst())
        if let reason = SourceWorker.enterSandbox(opening, own) {
            try send(.failed(.sandbox, reason))
            _ = try channel.receive()
            return
        }
        let demuxer: MediaDemuxer
        do {
            demuxer = try open(opening, own)
        } catch {
            // Libraries follow a redirection by themselves, as far as they get a socket for it.
            try send(sandbox_refused_socket() != 0 ? .failed(.redirected, "") : Self.reply(to: error))
            _ = try channel.receive()
            return
        }
        let size = demuxer.video?.size ?? (width: 0, height: 0)
        packets.start(
            Confined(WorkerDecoder(Channel(1), packets, demuxer, pictures: pictures, maxPixels: opening.maxPixels)))
        try send(
            .opened(
                SourceReply.Streams(
                    hasVideo: demuxer.video != nil, hasAudio: demuxer.audio != nil,
                    rotation: demuxer.video?.rotation.rawValue ?? 0, width: UInt32(clamping: size.width),
                    height: UInt32(clamping: size.height))))
        try serve(demuxer)
    }

    private func send(_ reply: SourceReply) throws { try channel.send(reply.message) }

    private static func map(_ memory: Int32, _ maxPixels: Int) -> UnsafeMutableRawPointer? {
        let mapped = mmap(
            nil, PackedPicture.capacity(maxPixels: maxPixels), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0)
        close(memory)
        return mapped == MAP_FAILED ? nil : mapped
    }

    private func open(_ opening: SourceOpening, _ descriptors: [Int32]) throws -> MediaDemuxer {
        let origin: MediaDemuxer.Origin
        switch opening.origin {
        case .url(let url, let options, let protocols): origin = .url(url, options: options, protocols: protocols)
        case .rtsp(let url): origin = .rtsp(url)
        case .file(let name, let length):
            guard let file = descriptors.first else { throw Channel.Failure.malformed }
            origin = .bytes(FileSource(descriptor: file, length: length), name: name)
        case .bytes(let name, let length, let isSeekable):
            origin = .bytes(FedSource(channel, 0, length: length, isSeekable: isSeekable), name: name)
        }
        return try MediaDemuxer(
            origin, formats: opening.formats, maxPixels: opening.maxPixels, interrupt: packets.interrupt,
            connected: { try? send(.connected) },
            nested: { [channel] url, range in try FedSource.nested(channel, url, range) })
    }

    private func serve(_ demuxer: MediaDemuxer) throws {
        while true {
            switch try SourceRequest(try channel.receive()) {
            case .next(let released):
                for id in released { _ = packets.take(id) }
                do {
                    guard let packet = try demuxer.next() else {
                        try send(.end(isFinite: demuxer.isFinite))
                        continue
                    }
                    let (kind, byteCount) = (packet.kind, UInt32(clamping: packet.byteCount))
                    let (isKeyframe, time, duration) = (packet.isKeyframe, packet.time, packet.duration)
                    try send(
                        .packet(
                            SourceReply.Packet(
                                kind: kind, id: packets.add(packet), byteCount: byteCount, isKeyframe: isKeyframe,
                                time: time, duration: duration)))
                } catch let error as Channel.Failure {
                    throw error
                } catch {
                    try send(Self.reply(to: error))
                }
            case .rewind: try send(.rewound(demuxer.rewind()))
            case .open, .bytes, .sought, .nested, .refused: return
            }
        }
    }

    private static func reply(to error: any Error) -> SourceReply {
        switch error {
        case DemuxError.noMedia(let text): .failed(.noMedia, text)
        case DemuxError.redirected: .failed(.redirected, "")
        case DemuxError.timedOut: .failed(.timedOut, "")
        case is FedSource.Refusal: .failed(.refused, "")
        default: .failed(.failed, "\(error)")
        }
    }
}

/// Bytes that the server fetches.
final class FedSource: ByteSource {
    /// The server has the reason.
    struct Refusal: FinalError { var isFinal: Bool }

    let length: Int64?
    let isSeekable: Bool
    private let channel: Channel
    private let id: UInt32

    init(_ channel: Channel, _ id: UInt32, length: Int64?, isSeekable: Bool) {
        (self.channel, self.id, self.length, self.isSeekable) = (channel, id, length, isSeekable)
    }

    deinit { try? channel.send(SourceReply.close(id).message) }

    static func nested(_ channel: Channel, _ url: String, _ range: Range<Int64>?) throws -> FedSource {
        guard case .nested(let id, let length, let isSeekable) = try ask(channel, .nested(url, range)) else {
            throw Channel.Failure.malformed
        }
        return FedSource(channel, id, length: length, isSeekable: isSeekable)
    }

    private static func ask(_ channel: Channel, _ reply: SourceReply) throws -> SourceRequest {
        try channel.send(reply.message)
        let answer = try SourceRequest(try channel.receive())
        if case .refused(let isFinal) = answer { throw Refusal(isFinal: isFinal) }
        return answer
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        let reply = SourceReply.read(id, count: UInt32(clamping: buffer.count))
        guard case .bytes(let bytes) = try Self.ask(channel, reply), bytes.count <= buffer.count else {
            throw Channel.Failure.malformed
        }
        buffer.copyBytes(from: bytes)
        return bytes.count
    }

    func seek(to position: Int64) throws {
        guard case .sought = try Self.ask(channel, .seek(id, to: position)) else { throw Channel.Failure.malformed }
    }
}
