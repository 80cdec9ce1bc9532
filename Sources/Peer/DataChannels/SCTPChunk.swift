import Basics

/// The chunks of RFC 9260 that data channels use, with FORWARD-TSN (RFC 3758) and RE-CONFIG (RFC 6525).
enum SCTPChunk: Equatable {
    case data(SCTPData)
    case initiate(SCTPInit)
    case initiateAck(SCTPInit)
    case sack(SCTPSack)
    case heartbeat([UInt8])
    case heartbeatAck([UInt8])
    case abort([UInt8])
    case shutdown(UInt32)
    case shutdownAck
    case shutdownComplete
    case cookieEcho([UInt8])
    case cookieAck
    case forwardTSN(UInt32, [SCTPSkip])
    case reconfig([SCTPReconfig])
    case other(UInt8)

    /// Chunks of which only the first in a packet is handled.
    enum Kind { case sack, cookieEcho, forwardTSN, reconfig }

    var kind: Kind? {
        switch self {
        case .sack: .sack
        case .cookieEcho: .cookieEcho
        case .forwardTSN: .forwardTSN
        case .reconfig: .reconfig
        default: nil
        }
    }
}

struct SCTPData: Equatable {
    var tsn: UInt32
    var stream: UInt16
    var ssn: UInt16
    var ppid: UInt32
    var unordered: Bool
    var begins: Bool
    var ends: Bool
    var payload: [UInt8]
}

struct SCTPInit: Equatable {
    var tag: UInt32
    var window: UInt32
    var outbound: UInt16
    var inbound: UInt16
    var tsn: UInt32
    var cookie: [UInt8]?
    var forwardTSN = true
}

struct SCTPSack: Equatable {
    var cumulative: UInt32
    var window: UInt32
    var gaps: [ClosedRange<UInt16>]
    var duplicates: [UInt32]
}

/// An ordered message that the sender abandoned, by stream.
struct SCTPSkip: Equatable {
    var stream: UInt16
    var ssn: UInt16
}

enum SCTPReconfig: Equatable {
    case resetOutgoing(request: UInt32, response: UInt32, lastTSN: UInt32, streams: [UInt16])
    case resetIncoming(request: UInt32, streams: [UInt16])
    case response(request: UInt32, result: UInt32)
    case other(request: UInt32)
}

/// One SCTP packet: header, checksum, chunks.
struct SCTPPacket: Equatable {
    /// The most chunks of one packet that are parsed. A packet of 1280 bytes holds 64 of a few bytes each; a peer that
    /// bundles more sends the rest again.
    static let maximumChunks = 128

    var source: UInt16
    var destination: UInt16
    var tag: UInt32
    var chunks: [SCTPChunk]

    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append16(source)
        bytes.append16(destination)
        bytes.append32(tag)
        bytes.append32(0)
        for chunk in chunks { chunk.encode(into: &bytes) }
        let crc = CRC32C.checksum(bytes)
        // The checksum is the only little-endian field of the protocol.
        for index in 0..<4 { bytes[8 + index] = UInt8(truncatingIfNeeded: crc >> (8 * UInt32(index))) }
        return bytes
    }

    /// Nil for a wrong checksum or a truncated header; of damaged chunks only those before the damage are used.
    init?(parsing bytes: [UInt8]) {
        guard bytes.count >= 12 else { return nil }
        let stated = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[8 + $1]) << (8 * UInt32($1)) }
        guard stated == CRC32C.checksum(bytes) else { return nil }
        var reader = ByteReader(bytes.span)
        chunks = []
        do {
            source = try reader.readUInt16()
            destination = try reader.readUInt16()
            tag = try reader.readUInt32()
            try reader.skip(4)
        } catch { return nil }
        while reader.remaining >= 4, chunks.count < Self.maximumChunks {
            do {
                let type = try reader.readUInt8()
                let flags = try reader.readUInt8()
                let length = Int(try reader.readUInt16())
                let body = try reader.readBytes(length - 4)
                try reader.skip(min(reader.remaining, (4 - length & 3) & 3))
                chunks.append(try SCTPChunk(type: type, flags: flags, body: body))
            } catch { return }
        }
    }

    init(source: UInt16, destination: UInt16, tag: UInt32, chunks: [SCTPChunk]) {
        self.source = source
        self.destination = destination
        self.tag = tag
        self.chunks = chunks
    }
}

extension SCTPChunk {
    init(type: UInt8, flags: UInt8, body: [UInt8]) throws(ByteReader.Truncated) {
        var reader = ByteReader(body.span)
        switch type {
        case 0:
            self = .data(
                SCTPData(
                    tsn: try reader.readUInt32(), stream: try reader.readUInt16(), ssn: try reader.readUInt16(),
                    ppid: try reader.readUInt32(), unordered: flags & 4 != 0, begins: flags & 2 != 0,
                    ends: flags & 1 != 0,
                    payload: try reader.readBytes(reader.remaining)))
        case 1, 2:
            var value = SCTPInit(
                tag: try reader.readUInt32(), window: try reader.readUInt32(), outbound: try reader.readUInt16(),
                inbound: try reader.readUInt16(), tsn: try reader.readUInt32(), forwardTSN: false)
            while reader.remaining >= 4 {
                let parameter = try reader.readUInt16()
                let length = Int(try reader.readUInt16())
                let content = try reader.readBytes(length - 4)
                try reader.skip(min(reader.remaining, (4 - length & 3) & 3))
                switch parameter {
                case 7: value.cookie = content
                case 0xC000: value.forwardTSN = true
                default: break
                }
            }
            self = type == 1 ? .initiate(value) : .initiateAck(value)
        case 3:
            var value = SCTPSack(
                cumulative: try reader.readUInt32(), window: try reader.readUInt32(), gaps: [], duplicates: [])
            let gaps = try reader.readUInt16()
            let duplicates = try reader.readUInt16()
            for _ in 0..<gaps {
                let first = try reader.readUInt16()
                let last = try reader.readUInt16()
                if first <= last { value.gaps.append(first...last) }
            }
            for _ in 0..<duplicates { value.duplicates.append(try reader.readUInt32()) }
            self = .sack(value)
        case 4: self = .heartbeat(body)
        case 5: self = .heartbeatAck(body)
        case 6: self = .abort(body)
        case 7: self = .shutdown(try reader.readUInt32())
        case 8: self = .shutdownAck
        case 10: self = .cookieEcho(body)
        case 11: self = .cookieAck
        case 14: self = .shutdownComplete
        case 192:
            let tsn = try reader.readUInt32()
            var skips: [SCTPSkip] = []
            while reader.remaining >= 4 {
                skips.append(SCTPSkip(stream: try reader.readUInt16(), ssn: try reader.readUInt16()))
            }
            self = .forwardTSN(tsn, skips)
        case 130:
            var parameters: [SCTPReconfig] = []
            // A packet holds two parameters at most (RFC 6525 §3.1).
            while reader.remaining >= 8, parameters.count < 2 {
                let parameter = try reader.readUInt16()
                let length = Int(try reader.readUInt16())
                let content = try reader.readBytes(length - 4)
                try reader.skip(min(reader.remaining, (4 - length & 3) & 3))
                parameters.append(try SCTPReconfig(type: parameter, content: content))
            }
            self = .reconfig(parameters)
        default: self = .other(type)
        }
    }

    /// The bytes that `encode` appends.
    var encodedSize: Int {
        if case .data(let data) = self { return 16 + (data.payload.count + 3) & ~3 }
        var bytes: [UInt8] = []
        encode(into: &bytes)
        return bytes.count
    }

    func encode(into bytes: inout [UInt8]) {
        var body: [UInt8] = []
        var type: UInt8 = 0
        var flags: UInt8 = 0
        switch self {
        case .data(let data):
            flags = (data.unordered ? 4 : 0) | (data.begins ? 2 : 0) | (data.ends ? 1 : 0)
            body.append32(data.tsn)
            body.append16(data.stream)
            body.append16(data.ssn)
            body.append32(data.ppid)
            body += data.payload
        case .initiate(let value), .initiateAck(let value):
            if case .initiate = self { type = 1 } else { type = 2 }
            body.append32(value.tag)
            body.append32(value.window)
            body.append16(value.outbound)
            body.append16(value.inbound)
            body.append32(value.tsn)
            if let cookie = value.cookie { Self.append(7, cookie, to: &body) }
            // Forward-TSN-Supported, and Supported Extensions: RE-CONFIG, FORWARD-TSN.
            if value.forwardTSN { Self.append(0xC000, [], to: &body) }
            Self.append(0x8008, [130, 192], to: &body)
        case .sack(let sack):
            type = 3
            body.append32(sack.cumulative)
            body.append32(sack.window)
            body.append16(UInt16(truncatingIfNeeded: sack.gaps.count))
            body.append16(UInt16(truncatingIfNeeded: sack.duplicates.count))
            for gap in sack.gaps {
                body.append16(gap.lowerBound)
                body.append16(gap.upperBound)
            }
            for duplicate in sack.duplicates { body.append32(duplicate) }
        case .heartbeat(let info): (type, body) = (4, info)
        case .heartbeatAck(let info): (type, body) = (5, info)
        case .abort(let causes): (type, body) = (6, causes)
        case .shutdown(let tsn):
            type = 7
            body.append32(tsn)
        case .shutdownAck: type = 8
        case .cookieEcho(let cookie): (type, body) = (10, cookie)
        case .cookieAck: type = 11
        case .shutdownComplete: type = 14
        case .forwardTSN(let tsn, let skips):
            type = 192
            body.append32(tsn)
            for skip in skips {
                body.append16(skip.stream)
                body.append16(skip.ssn)
            }
        case .reconfig(let parameters):
            type = 130
            for parameter in parameters { parameter.encode(into: &body) }
        case .other(let number): type = number
        }
        bytes.append(type)
        bytes.append(flags)
        bytes.append16(UInt16(truncatingIfNeeded: body.count + 4))
        bytes += body
        while bytes.count & 3 != 0 { bytes.append(0) }
    }

    static func append(_ parameter: UInt16, _ content: [UInt8], to bytes: inout [UInt8]) {
        bytes.append16(parameter)
        bytes.append16(UInt16(truncatingIfNeeded: content.count + 4))
        bytes += content
        while bytes.count & 3 != 0 { bytes.append(0) }
    }
}

extension SCTPReconfig {
    init(type: UInt16, content: [UInt8]) throws(ByteReader.Truncated) {
        var reader = ByteReader(content.span)
        let request = try reader.readUInt32()
        switch type {
        case 13:
            let response = try reader.readUInt32()
            let last = try reader.readUInt32()
            var streams: [UInt16] = []
            while reader.remaining >= 2 { streams.append(try reader.readUInt16()) }
            self = .resetOutgoing(request: request, response: response, lastTSN: last, streams: streams)
        case 14:
            var streams: [UInt16] = []
            while reader.remaining >= 2 { streams.append(try reader.readUInt16()) }
            self = .resetIncoming(request: request, streams: streams)
        case 16: self = .response(request: request, result: try reader.readUInt32())
        default: self = .other(request: request)
        }
    }

    func encode(into bytes: inout [UInt8]) {
        var content: [UInt8] = []
        let type: UInt16
        switch self {
        case .resetOutgoing(let request, let response, let lastTSN, let streams):
            type = 13
            content.append32(request)
            content.append32(response)
            content.append32(lastTSN)
            for stream in streams { content.append16(stream) }
        case .resetIncoming(let request, let streams):
            type = 14
            content.append32(request)
            for stream in streams { content.append16(stream) }
        case .response(let request, let result):
            type = 16
            content.append32(request)
            content.append32(result)
        case .other(let request):
            type = 17
            content.append32(request)
        }
        SCTPChunk.append(type, content, to: &bytes)
    }
}

/// Whether `a` comes before `b` on a circle of 2³² numbers (RFC 1982).
func serialLess(_ a: UInt32, _ b: UInt32) -> Bool { Int32(bitPattern: a &- b) < 0 }
