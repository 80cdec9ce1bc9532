import Basics
import Codecs
import FoundationEssentials

/// What the server tells the process that decodes an input, on the channel of its demuxer.
enum SourceRequest: Hashable, Sendable {
    case open(SourceOpening)
    /// The next packet is wanted, and these are not needed any more.
    case next(released: [UInt32])
    case rewind
    /// Answers of the server to `SourceReply.read`, `.seek` and `.nested`.
    case bytes([UInt8])
    case sought
    case nested(UInt32, length: Int64?, isSeekable: Bool)
    /// What was asked for cannot be had. `isFinal`: nor can the whole source.
    case refused(isFinal: Bool)
}

/// What is to be opened. The descriptors come with the message: the memory for pictures, the file, the sockets.
struct SourceOpening: Hashable, Sendable {
    enum Origin: Hashable, Sendable {
        case url(String, options: [String: String], protocols: String)
        case rtsp(String)
        case file(name: String, length: Int64)
        /// Bytes that the server fetches.
        case bytes(name: String, length: Int64?, isSeekable: Bool)
    }

    var origin: Origin
    var formats: String
    var maxPixels: Int
    /// `SANDBOX_…`
    var rights: Int32 = 0
}

/// What that process answers or asks.
enum SourceReply: Hashable, Sendable {
    struct Streams: Hashable, Sendable {
        var hasVideo, hasAudio: Bool
        var rotation: UInt8
        var width, height: UInt32
    }

    struct Packet: Hashable, Sendable {
        var kind: DemuxedPacket.Kind
        var id: UInt32
        var byteCount: UInt32
        var isKeyframe: Bool
        var time: Duration?
        var duration: Duration
    }

    enum Reason: UInt8 { case failed, noMedia, redirected, timedOut, refused, sandbox }

    /// A connection is there.
    case connected
    case opened(Streams)
    case packet(Packet)
    case end(isFinite: Bool)
    case rewound(Bool)
    case failed(Reason, String)
    case read(UInt32, count: UInt32)
    case seek(UInt32, to: Int64)
    case nested(String, Range<Int64>?)
    case close(UInt32)
}

/// On the channel of its decoders.
enum DecodingRequest: Hashable, Sendable {
    /// How a packet's times change.
    enum Times: Hashable, Sendable { case kept, shifted(Duration), set(Duration) }

    case decode(UInt32, Times)
    /// Hand out what is left at the end of a stream.
    case drain(DemuxedPacket.Kind)
    case flush(DemuxedPacket.Kind)
    /// The picture has been copied.
    case taken
}

enum DecodingReply: Hashable, Sendable {
    /// A picture in the shared memory.
    case picture(width: UInt32, height: UInt32, time: Duration?)
    case samples([Float], time: Duration?)
    /// The request has been done. The size is that of the decoder.
    case done(width: UInt32, height: UInt32, isFaulty: Bool)
}

// MARK: - Bytes

/// Times of the other process are as bounded as those that a demuxer makes: sums of a few do not overflow.
private let longestTime: UInt64 = 1 << 60

extension [UInt8] {
    fileprivate mutating func append(_ time: Duration?) {
        append64(time.map { UInt64(bitPattern: $0.nanoseconds) } ?? UInt64(bitPattern: .min))
    }

    fileprivate mutating func append(_ number: Int64?) { append64(UInt64(bitPattern: number ?? -1)) }

    fileprivate mutating func append(_ text: String) {
        append32(UInt32(truncatingIfNeeded: text.utf8.count))
        self += text.utf8
    }

    fileprivate mutating func append(_ flag: Bool) { append(UInt8(flag ? 1 : 0)) }
}

extension ByteReader {
    fileprivate mutating func time() throws(Truncated) -> Duration? {
        let nanoseconds = Int64(bitPattern: try readUInt64())
        return nanoseconds.magnitude < longestTime ? .nanoseconds(nanoseconds) : nil
    }

    fileprivate mutating func number() throws(Truncated) -> Int64? {
        let number = Int64(bitPattern: try readUInt64())
        return number < 0 ? nil : number
    }

    fileprivate mutating func text() throws(Truncated) -> String {
        String(decoding: try readBytes(Int(try readUInt32())), as: UTF8.self)
    }

    fileprivate mutating func flag() throws(Truncated) -> Bool { try readUInt8() != 0 }

    fileprivate mutating func kind() throws(Truncated) -> DemuxedPacket.Kind { try flag() ? .audio : .video }
}

extension SourceRequest {
    var message: Message {
        var body: [UInt8] = []
        switch self {
        case .open(let opening):
            opening.write(to: &body)
            return Message(kind: 0, body: body)
        case .next(let released):
            for id in released { body.append32(id) }
            return Message(kind: 1, body: body)
        case .rewind: return Message(kind: 2)
        case .bytes(let bytes): return Message(kind: 3, body: bytes)
        case .sought: return Message(kind: 4)
        case .nested(let id, let length, let isSeekable):
            body.append32(id)
            body.append(length)
            body.append(isSeekable)
            return Message(kind: 5, body: body)
        case .refused(let isFinal): return Message(kind: 6, body: [isFinal ? 1 : 0])
        }
    }

    init(_ message: Message) throws {
        var reader = ByteReader(message.body.span)
        switch message.kind {
        case 0: self = .open(try SourceOpening(&reader))
        case 1:
            var released: [UInt32] = []
            while reader.remaining > 0 { released.append(try reader.readUInt32()) }
            self = .next(released: released)
        case 2: self = .rewind
        case 3: self = .bytes(message.body)
        case 4: self = .sought
        case 5:
            self = .nested(try reader.readUInt32(), length: try reader.number(), isSeekable: try reader.flag())
        case 6: self = .refused(isFinal: try reader.flag())
        default: throw Channel.Failure.malformed
        }
    }
}

extension SourceOpening {
    fileprivate func write(to body: inout [UInt8]) {
        body.append32(UInt32(clamping: maxPixels))
        body.append32(UInt32(bitPattern: rights))
        body.append(formats)
        switch origin {
        case .url(let url, let options, let protocols):
            body.append(UInt8(0))
            body.append(url)
            body.append(protocols)
            body.append32(UInt32(options.count))
            for (key, value) in options {
                body.append(key)
                body.append(value)
            }
        case .rtsp(let url):
            body.append(UInt8(1))
            body.append(url)
        case .file(let name, let length):
            body.append(UInt8(2))
            body.append(name)
            body.append(Int64?.some(length))
        case .bytes(let name, let length, let isSeekable):
            body.append(UInt8(3))
            body.append(name)
            body.append(length)
            body.append(isSeekable)
        }
    }

    fileprivate init(_ reader: inout ByteReader) throws {
        maxPixels = Int(try reader.readUInt32())
        rights = Int32(bitPattern: try reader.readUInt32())
        formats = try reader.text()
        switch try reader.readUInt8() {
        case 0:
            let (url, protocols) = (try reader.text(), try reader.text())
            var options: [String: String] = [:]
            for _ in 0..<(try reader.readUInt32()) {
                let key = try reader.text()
                options[key] = try reader.text()
            }
            origin = .url(url, options: options, protocols: protocols)
        case 1: origin = .rtsp(try reader.text())
        case 2: origin = .file(name: try reader.text(), length: try reader.number() ?? 0)
        case 3:
            origin = .bytes(
                name: try reader.text(), length: try reader.number(), isSeekable: try reader.flag())
        default: throw Channel.Failure.malformed
        }
    }
}

extension SourceReply {
    var message: Message {
        var body: [UInt8] = []
        switch self {
        case .connected: return Message(kind: 0)
        case .opened(let streams):
            body.append(streams.hasVideo)
            body.append(streams.hasAudio)
            body.append(streams.rotation)
            body.append32(streams.width)
            body.append32(streams.height)
            return Message(kind: 1, body: body)
        case .packet(let packet):
            body.append(packet.kind == .audio)
            body.append32(packet.id)
            body.append32(packet.byteCount)
            body.append(packet.isKeyframe)
            body.append(packet.time)
            body.append(Duration?.some(packet.duration))
            return Message(kind: 2, body: body)
        case .end(let isFinite): return Message(kind: 3, body: [isFinite ? 1 : 0])
        case .rewound(let isDone): return Message(kind: 4, body: [isDone ? 1 : 0])
        case .failed(let reason, let text):
            body.append(reason.rawValue)
            body.append(text)
            return Message(kind: 5, body: body)
        case .read(let id, let count):
            body.append32(id)
            body.append32(count)
            return Message(kind: 6, body: body)
        case .seek(let id, let position):
            body.append32(id)
            body.append(Int64?.some(position))
            return Message(kind: 7, body: body)
        case .nested(let url, let range):
            body.append(url)
            body.append(range?.lowerBound)
            body.append(range?.upperBound)
            return Message(kind: 8, body: body)
        case .close(let id):
            body.append32(id)
            return Message(kind: 9, body: body)
        }
    }

    init(_ message: Message) throws {
        var reader = ByteReader(message.body.span)
        switch message.kind {
        case 0: self = .connected
        case 1:
            self = .opened(
                Streams(
                    hasVideo: try reader.flag(), hasAudio: try reader.flag(), rotation: try reader.readUInt8(),
                    width: try reader.readUInt32(), height: try reader.readUInt32()))
        case 2:
            let (kind, id, byteCount) = (try reader.kind(), try reader.readUInt32(), try reader.readUInt32())
            let (isKeyframe, time) = (try reader.flag(), try reader.time())
            let duration = try reader.time() ?? .zero
            self = .packet(
                Packet(
                    kind: kind, id: id, byteCount: byteCount, isKeyframe: isKeyframe, time: time,
                    duration: max(.zero, duration)))
        case 3: self = .end(isFinite: try reader.flag())
        case 4: self = .rewound(try reader.flag())
        case 5:
            guard let reason = Reason(rawValue: try reader.readUInt8()) else { throw Channel.Failure.malformed }
            self = .failed(reason, try reader.text())
        case 6: self = .read(try reader.readUInt32(), count: try reader.readUInt32())
        case 7:
            let id = try reader.readUInt32()
            guard let position = try reader.number() else { throw Channel.Failure.malformed }
            self = .seek(id, to: position)
        case 8:
            let (url, start, end) = (try reader.text(), try reader.number(), try reader.number())
            guard let start, let end else {
                self = .nested(url, nil)
                return
            }
            guard start < end else { throw Channel.Failure.malformed }
            self = .nested(url, start..<end)
        case 9: self = .close(try reader.readUInt32())
        default: throw Channel.Failure.malformed
        }
    }
}

extension DecodingRequest {
    var message: Message {
        var body: [UInt8] = []
        switch self {
        case .decode(let id, let times):
            body.append32(id)
            switch times {
            case .kept: body.append(UInt8(0))
            case .shifted(let by):
                body.append(UInt8(1))
                body.append(Duration?.some(by))
            case .set(let time):
                body.append(UInt8(2))
                body.append(Duration?.some(time))
            }
            return Message(kind: 0, body: body)
        case .drain(let kind): return Message(kind: 1, body: [kind == .audio ? 1 : 0])
        case .flush(let kind): return Message(kind: 2, body: [kind == .audio ? 1 : 0])
        case .taken: return Message(kind: 3)
        }
    }

    init(_ message: Message) throws {
        var reader = ByteReader(message.body.span)
        switch message.kind {
        case 0:
            let id = try reader.readUInt32()
            switch try reader.readUInt8() {
            case 0: self = .decode(id, .kept)
            case 1: self = .decode(id, .shifted(try reader.time() ?? .zero))
            default: self = .decode(id, .set(try reader.time() ?? .zero))
            }
        case 1: self = .drain(try reader.kind())
        case 2: self = .flush(try reader.kind())
        case 3: self = .taken
        default: throw Channel.Failure.malformed
        }
    }
}

extension DecodingReply {
    var message: Message {
        var body: [UInt8] = []
        switch self {
        case .picture(let width, let height, let time):
            body.append32(width)
            body.append32(height)
            body.append(time)
            return Message(kind: 0, body: body)
        case .samples(let samples, let time):
            body.append(time)
            // Both processes are on one machine, and one program.
            samples.withUnsafeBytes { body += $0 }
            return Message(kind: 1, body: body)
        case .done(let width, let height, let isFaulty):
            body.append32(width)
            body.append32(height)
            body.append(isFaulty)
            return Message(kind: 2, body: body)
        }
    }

    init(_ message: Message) throws {
        var reader = ByteReader(message.body.span)
        switch message.kind {
        case 0:
            self = .picture(
                width: try reader.readUInt32(), height: try reader.readUInt32(), time: try reader.time())
        case 1:
            let time = try reader.time()
            let size = MemoryLayout<Float>.size
            guard reader.remaining % size == 0 else { throw Channel.Failure.malformed }
            let (offset, count) = (reader.offset, reader.remaining / size)
            let samples = message.body.withUnsafeBytes { bytes in
                (0..<count).map { index in
                    let sample = bytes.loadUnaligned(fromByteOffset: offset + index * size, as: Float.self)
                    // What is no number would stay in every filter behind.
                    return sample.isFinite ? max(-8, min(8, sample)) : 0
                }
            }
            self = .samples(samples, time: time)
        case 2:
            self = .done(
                width: try reader.readUInt32(), height: try reader.readUInt32(), isFaulty: try reader.flag())
        default: throw Channel.Failure.malformed
        }
    }
}
