import Basics

/// What came of a frame's payloads.
public enum AssemblyResult: Sendable {
    case frame(EncodedVideoFrame)
    /// Nothing to decode: parameter sets alone, or only what is stripped.
    case nothing
    /// They contradict the payload format.
    case broken
}

/// Puts the packets of one access unit back into Annex B (RFC 6184), and remembers the stream's parameter sets.
public struct H264Depacketizer: Sendable {
    /// A bound on remembered parameter sets and their size: ids are 0–31 and 0–255, browsers use one or two.
    static let maximumParameterSets = 16
    static let maximumParameterSetSize = 4096

    private var spsByID: [(id: UInt32, nal: [UInt8])] = []
    private var ppsByID: [(id: UInt32, nal: [UInt8])] = []
    /// Of the newest SPS.
    public private(set) var width = 0
    public private(set) var height = 0

    /// Both kinds of parameter sets were seen: an IDR without them can be decoded.
    public var hasParameterSets: Bool { !spsByID.isEmpty && !ppsByID.isEmpty }

    public init() {}

    /// What one payload holds, without taking it apart.
    public struct Peek: Sendable, Equatable {
        /// It begins at the start of a NAL unit: not in the middle of a fragmented one.
        public var startsUnit: Bool
        /// An IDR slice that is its picture's first (first_mb_in_slice is 0) begins here.
        public var hasIDR: Bool
        public var hasSPS: Bool
    }

    /// nil when the payload is no H.264 that is understood.
    public static func peek(_ payload: Span<UInt8>) -> Peek? {
        guard payload.count >= 1 else { return nil }
        switch payload[0] & 31 {
        case 1...23:
            let type = payload[0] & 31
            let isFirstSlice = payload.count >= 2 && payload[1] & 0x80 != 0
            return Peek(startsUnit: true, hasIDR: type == H264NAL.idr && isFirstSlice, hasSPS: type == H264NAL.sps)
        case H264NAL.stapA:
            var result = Peek(startsUnit: true, hasIDR: false, hasSPS: false)
            var reader = ByteReader(payload)
            do {
                try reader.skip(1)
                while reader.remaining > 0 {
                    let unit = try reader.take(Int(reader.readUInt16()))
                    guard let first = unit.first else { continue }
                    let isFirstSlice = unit.count >= 2 && payload[first + 1] & 0x80 != 0
                    result.hasIDR = result.hasIDR || payload[first] & 31 == H264NAL.idr && isFirstSlice
                    result.hasSPS = result.hasSPS || payload[first] & 31 == H264NAL.sps
                }
            } catch {
                return nil
            }
            return result
        case H264NAL.fuA:
            guard payload.count >= 2 else { return nil }
            let starts = payload[1] & 0x80 != 0
            let type = payload[1] & 31
            let isFirstSlice = payload.count >= 3 && payload[2] & 0x80 != 0
            return Peek(
                startsUnit: starts, hasIDR: starts && type == H264NAL.idr && isFirstSlice, hasSPS: starts && type == H264NAL.sps)
        default: return nil
        }
    }

    /// The access unit of these payloads, which are contiguous and in order.
    ///
    /// Parameter sets are remembered and put before an IDR that came without; a keyframe is an IDR with its SPS.
    public mutating func assemble(_ payloads: [[UInt8]], timestamp: Int64) -> AssemblyResult {
        var units: [[UInt8]] = []
        var fragment: [UInt8]?
        for payload in payloads {
            guard let first = payload.first else { continue }
            switch first & 31 {
            case 1...23:
                guard fragment == nil else { return .broken }
                units.append(payload)
            case H264NAL.stapA:
                guard fragment == nil, Self.split(payload, into: &units) else { return .broken }
            case H264NAL.fuA:
                guard payload.count >= 3 else { return .broken }
                let header = payload[1]
                if header & 0x80 != 0 {
                    guard fragment == nil else { return .broken }
                    fragment = [first & 0xE0 | header & 31]
                } else {
                    guard let open = fragment?.first, open & 31 == header & 31 else { return .broken }
                }
                fragment?.append(contentsOf: payload[2...])
                if header & 0x40 != 0 {
                    if let whole = fragment { units.append(whole) }
                    fragment = nil
                }
            default: return .broken
            }
        }
        guard fragment == nil else { return .broken }
        return frame(of: units, timestamp: timestamp)
    }

    private static func split(_ payload: [UInt8], into units: inout [[UInt8]]) -> Bool {
        var reader = ByteReader(payload.span)
        do {
            try reader.skip(1)
            while reader.remaining > 0 {
                let unit = try reader.readBytes(Int(reader.readUInt16()))
                if !unit.isEmpty { units.append(unit) }
            }
            return true
        } catch {
            return false
        }
    }

    private mutating func frame(of units: [[UInt8]], timestamp: Int64) -> AssemblyResult {
        var hasIDR = false
        var hasPicture = false
        var hasSPS = false
        var hasPPS = false
        var size = 0
        for unit in units {
            switch unit[0] & 31 {
            case H264NAL.sps:
                remember(sps: unit)
                hasSPS = true
            case H264NAL.pps:
                remember(pps: unit)
                hasPPS = true
            case H264NAL.idr:
                hasIDR = true
                hasPicture = true
            case 1...4: hasPicture = true
            default: break
            }
            size += unit.count + 4
        }
        // Parameter sets alone are no picture; they are remembered for the next one.
        guard hasPicture else { return .nothing }
        var data: [UInt8] = []
        data.reserveCapacity(size + 128)
        func append(_ unit: [UInt8]) {
            data.append32(1)
            data += unit
        }
        if hasIDR, !hasSPS { for set in spsByID { append(set.nal) } }
        if hasIDR, !hasPPS {
            // Parameter sets come before every slice: an SPS of this access unit first, then the remembered PPS.
            for unit in units where unit[0] & 31 == H264NAL.sps { append(unit) }
            for set in ppsByID { append(set.nal) }
        }
        for (index, unit) in units.enumerated() {
            switch unit[0] & 31 {
            case H264NAL.accessUnitDelimiter, H264NAL.filler: continue
            case H264NAL.sps where hasIDR && !hasPPS: continue
            // Some say them twice, as we do, lest they get lost.
            case H264NAL.sps where units[..<index].contains(unit), H264NAL.pps where units[..<index].contains(unit): continue
            default: append(unit)
            }
        }
        let isKeyframe = hasIDR && hasParameterSets
        return .frame(
            EncodedVideoFrame(
                codec: .h264, data: data, isKeyframe: isKeyframe, timestamp: timestamp, width: width, height: height))
    }

    private mutating func remember(sps unit: [UInt8]) {
        guard unit.count <= Self.maximumParameterSetSize else { return }
        if let size = H264NAL.pictureSize(ofSPS: unit.span) {
            width = size.width
            height = size.height
        }
        // seq_parameter_set_id follows profile, constraints and level.
        var reader = BitReader(unit.span)
        guard (try? reader.skip(32)) != nil, let id = try? reader.unsigned() else { return }
        Self.remember(unit, id: id, in: &spsByID)
    }

    private mutating func remember(pps unit: [UInt8]) {
        guard unit.count <= Self.maximumParameterSetSize else { return }
        var reader = BitReader(unit.span)
        guard (try? reader.skip(8)) != nil, let id = try? reader.unsigned() else { return }
        Self.remember(unit, id: id, in: &ppsByID)
    }

    private static func remember(_ unit: [UInt8], id: UInt32, in sets: inout [(id: UInt32, nal: [UInt8])]) {
        if let index = sets.firstIndex(where: { $0.id == id }) {
            sets[index].nal = unit
        } else {
            sets.append((id, unit))
            if sets.count > maximumParameterSets { sets.removeFirst() }
        }
    }
}
