import Basics

/// The result of assembling a frame's payloads.
enum AssemblyResult: Sendable {
    case frame(EncodedVideoFrame)
    /// There is nothing to decode: only parameter sets, or only units that are stripped.
    case nothing
    /// The payloads contradict the payload format.
    case broken
    /// The frame has more units than any encoder makes of one picture.
    case oversized
}

/// Reassembles the packets of one access unit to Annex B (RFC 6184), and remembers the stream's parameter sets.
struct H264Depacketizer: Sendable {
    /// A bound on remembered parameter sets of each kind: ids are 0–31 and 0–255, browsers use one or two.
    static let maximumParameterSets = 16
    /// In bytes. An SPS with all scaling lists and a VUI has about 700; all remembered ones may be put before each IDR.
    static let maximumParameterSetSize = 1024
    /// The most NAL units of one access unit, mainly slices. In packetization mode 0, or if the encoder limits slices
    /// to a packet's size, each packet is one: 1024 of them are a keyframe of 1.1 MB, four times what 4096×4096 needs
    /// at the rates of a call.
    static let maximumUnits = 1024
    /// The most of them that are no slices: a delimiter, repeated parameter sets, a few SEI messages, filler.
    static let maximumOtherUnits = 64

    private var spsByID = ParameterSets()
    private var ppsByID = ParameterSets()
    /// The size in the newest SPS.
    private(set) var width = 0
    private(set) var height = 0

    /// Both kinds of parameter sets were received: an IDR without them can be decoded.
    var hasParameterSets: Bool { !spsByID.isEmpty && !ppsByID.isEmpty }

    init() {}

    /// The contents of one payload, as far as its first bytes show.
    struct Peek: Sendable, Equatable {
        /// The payload begins at the start of a NAL unit: not in the middle of a fragmented one.
        var startsUnit: Bool
        /// An IDR slice that is its picture's first (first_mb_in_slice is 0) begins here.
        var hasIDR: Bool
        var hasSPS: Bool
    }

    /// nil if the payload is not valid H.264 of a supported type.
    static func peek(_ payload: Span<UInt8>) -> Peek? {
        guard payload.count >= 1 else { return nil }
        switch payload[0] & 31 {
        case 1...23:
            let type = payload[0] & 31
            let isFirstSlice = payload.count >= 2 && payload[1] & 0x80 != 0
            return Peek(
                startsUnit: true, hasIDR: type == H264.UnitType.idr && isFirstSlice, hasSPS: type == H264.UnitType.sps)
        case H264NAL.stapA:
            var result = Peek(startsUnit: true, hasIDR: false, hasSPS: false)
            var reader = ByteReader(payload)
            do {
                try reader.skip(1)
                while reader.remaining > 0 {
                    let unit = try reader.take(Int(reader.readUInt16()))
                    guard let first = unit.first else { continue }
                    let isFirstSlice = unit.count >= 2 && payload[first + 1] & 0x80 != 0
                    result.hasIDR = result.hasIDR || payload[first] & 31 == H264.UnitType.idr && isFirstSlice
                    result.hasSPS = result.hasSPS || payload[first] & 31 == H264.UnitType.sps
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
                startsUnit: starts, hasIDR: starts && type == H264.UnitType.idr && isFirstSlice,
                hasSPS: starts && type == H264.UnitType.sps)
        default: return nil
        }
    }

    /// Assembles the access unit of these payloads, which are contiguous and in order; in time linear in their bytes.
    ///
    /// Parameter sets are remembered and put before an IDR that came without them; a keyframe is an IDR with its SPS.
    mutating func assemble(_ payloads: [[UInt8]], timestamp: Int64) -> AssemblyResult {
        var unit = AccessUnit(capacity: payloads.reduce(0) { $0 + $1.count + 8 })
        spsByID.begin()
        ppsByID.begin()
        for payload in payloads {
            guard let first = payload.first else { continue }
            switch first & 31 {
            case 1...23:
                guard unit.open == nil else { return .broken }
                unit.begin()
                unit.data += payload
                end(&unit)
            case H264NAL.stapA:
                guard unit.open == nil, split(payload, into: &unit) else {
                    return unit.isOversized ? .oversized : .broken
                }
            case H264NAL.fuA:
                guard payload.count >= 3 else { return .broken }
                let header = payload[1]
                if header & 0x80 != 0 {
                    guard unit.open == nil else { return .broken }
                    unit.begin()
                    unit.data.append(first & 0xE0 | header & 31)
                } else {
                    guard let open = unit.open, unit.data[open] & 31 == header & 31 else { return .broken }
                }
                unit.data += payload[2...]
                if header & 0x40 != 0 { end(&unit) }
            default: return .broken
            }
            if unit.isOversized { return .oversized }
        }
        guard unit.open == nil else { return .broken }
        return frame(of: unit, timestamp: timestamp)
    }

    private mutating func split(_ payload: [UInt8], into unit: inout AccessUnit) -> Bool {
        var reader = ByteReader(payload.span)
        do {
            try reader.skip(1)
            while reader.remaining > 0, !unit.isOversized {
                let range = try reader.take(Int(reader.readUInt16()))
                guard !range.isEmpty else { continue }
                unit.begin()
                unit.data += payload[range]
                end(&unit)
            }
            return !unit.isOversized
        } catch {
            return false
        }
    }

    /// Ends a NAL unit: counts it, remembers a parameter set, and removes units that a decoder does not need.
    private mutating func end(_ unit: inout AccessUnit) {
        guard let start = unit.open else { return }
        unit.open = nil
        var isOther = true
        switch unit.data[start] & 31 {
        case 1...5:
            unit.hasPicture = true
            unit.hasIDR = unit.hasIDR || unit.data[start] & 31 == H264.UnitType.idr
            isOther = false
        case H264.UnitType.sps:
            unit.hasSPS = true
            // Some senders, like us, repeat parameter sets in case a packet is lost.
            if remember(sps: unit.copy(from: start)) {
                unit.drop(from: start)
            } else {
                unit.sps.append(start..<unit.data.count)
            }
        case H264.UnitType.pps:
            unit.hasPPS = true
            if remember(pps: unit.copy(from: start)) { unit.drop(from: start) }
        case H264.UnitType.delimiter, H264.UnitType.filler: unit.drop(from: start)
        default: break
        }
        unit.count(isOther: isOther)
    }

    private func frame(of unit: AccessUnit, timestamp: Int64) -> AssemblyResult {
        // Parameter sets alone are no picture; they are remembered for the next one.
        guard unit.hasPicture else { return .nothing }
        var data = unit.data
        if unit.hasIDR, !unit.hasSPS || !unit.hasPPS {
            // Parameter sets come before every slice: an SPS of this access unit first, then the remembered PPS.
            data = []
            data.reserveCapacity(unit.data.count + spsByID.bytes + ppsByID.bytes)
            if !unit.hasSPS { spsByID.append(to: &data) }
            var rest = 0
            if !unit.hasPPS {
                for range in unit.sps {
                    data += unit.data[range.lowerBound - AccessUnit.startCode.count..<range.upperBound]
                }
                ppsByID.append(to: &data)
                for range in unit.sps {
                    data += unit.data[rest..<range.lowerBound - AccessUnit.startCode.count]
                    rest = range.upperBound
                }
            }
            data += unit.data[rest...]
        }
        return .frame(
            EncodedVideoFrame(
                codec: .h264, data: data, isKeyframe: unit.hasIDR && hasParameterSets, timestamp: timestamp,
                width: width, height: height))
    }

    /// Remembers an SPS; true if this access unit already contained the same one.
    private mutating func remember(sps unit: [UInt8]?) -> Bool {
        guard let unit else { return false }
        // seq_parameter_set_id follows profile, constraints and level.
        var reader = BitReader(unit.span)
        guard (try? reader.skip(32)) != nil, let id = try? reader.unsigned() else { return false }
        guard !spsByID.remember(unit, id: id) else { return true }
        if let size = H264NAL.pictureSize(ofSPS: unit.span) {
            width = size.width
            height = size.height
        }
        return false
    }

    /// Remembers a PPS; true if this access unit already contained the same one.
    private mutating func remember(pps unit: [UInt8]?) -> Bool {
        guard let unit else { return false }
        var reader = BitReader(unit.span)
        guard (try? reader.skip(8)) != nil, let id = try? reader.unsigned() else { return false }
        return ppsByID.remember(unit, id: id)
    }
}

/// An access unit under assembly, in Annex B.
private struct AccessUnit {
    static let startCode: [UInt8] = [0, 0, 0, 1]

    var data: [UInt8] = []
    /// The offset of the NAL unit being assembled, after its start code.
    var open: Int?
    var hasIDR = false
    var hasPicture = false
    var hasSPS = false
    var hasPPS = false
    /// The ranges in `data`.
    var sps: [Range<Int>] = []
    private var units = 0
    private var others = 0

    init(capacity: Int) {
        data.reserveCapacity(capacity)
    }

    var isOversized: Bool { units > H264Depacketizer.maximumUnits || others > H264Depacketizer.maximumOtherUnits }

    mutating func begin() {
        data += Self.startCode
        open = data.count
    }

    /// The last unit, if it is short enough to be remembered.
    func copy(from start: Int) -> [UInt8]? {
        data.count - start <= H264Depacketizer.maximumParameterSetSize ? Array(data[start...]) : nil
    }

    /// Removes the last unit.
    mutating func drop(from start: Int) { data.removeSubrange(start - Self.startCode.count..<data.count) }

    mutating func count(isOther: Bool) {
        units += 1
        if isOther { others += 1 }
    }
}

/// The most recent parameter sets of one kind of a stream, by id.
private struct ParameterSets: Sendable {
    private struct Entry {
        var id: UInt32
        var unit: [UInt8]
        /// The access unit that contained it.
        var broughtBy: Int
    }

    /// The oldest first.
    private var entries: [Entry] = []
    private var accessUnit = 0

    var isEmpty: Bool { entries.isEmpty }
    var bytes: Int { entries.reduce(0) { $0 + $1.unit.count + 4 } }

    /// Begins a new access unit.
    mutating func begin() { accessUnit &+= 1 }

    /// Remembers a parameter set; true if the present access unit already contained the same one.
    mutating func remember(_ unit: [UInt8], id: UInt32) -> Bool {
        if let index = entries.firstIndex(where: { $0.id == id }) {
            if entries[index].broughtBy == accessUnit, entries[index].unit == unit { return true }
            entries[index].unit = unit
            entries[index].broughtBy = accessUnit
        } else {
            entries.append(Entry(id: id, unit: unit, broughtBy: accessUnit))
            if entries.count > H264Depacketizer.maximumParameterSets { entries.removeFirst() }
        }
        return false
    }

    /// Appends all of them in Annex B.
    func append(to data: inout [UInt8]) {
        for entry in entries {
            data.append32(1)
            data += entry.unit
        }
    }
}
