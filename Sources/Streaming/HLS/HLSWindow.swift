/// The media of a stream that can be fetched now: the last segments, and the one that is being made. A value.
package struct HLSWindow: Sendable {
    /// Names the stream, and differs from that of every other: who knows it has read a playlist of this one.
    package let id: String
    private let limits: HLSLimits
    /// Seconds since 1970 at the zero of the room's clock.
    let epoch: Double
    /// The complete segments, the oldest first.
    private(set) var segments: [HLSSegment] = []
    private(set) var current: HLSSegment?
    private(set) var headers: [Int: CMAFHeader] = [:]
    private(set) var nextPart = 0
    private(set) var nextSegment = 0
    private var headerCount = 0
    /// The number of the first segment since the stream had none.
    private var beginning = 0
    /// Segments at the beginning of `segments` that are not listed any more.
    private(set) var unlisted = 0
    /// Discontinuities before the listed segments.
    private(set) var discontinuitySequence = 0
    package private(set) var byteCount = 0
    /// No more segments come.
    package private(set) var isEnded = false

    init(id: String, epoch: Double, limits: HLSLimits = HLSLimits()) {
        self.id = id
        self.epoch = epoch
        self.limits = limits
    }

    /// The complete segments in the playlist.
    var listed: ArraySlice<HLSSegment> { segments.dropFirst(unlisted) }
    /// Whether the playlist is long enough for players that begin three target durations before its end (RFC 8216
    /// §6.3.3): Chromium's own player ends with a fault in a shorter one.
    package var isLongEnough: Bool {
        listed.last.map { $0.number - beginning + 1 >= HLSLimits.fewestSegments } ?? false
    }
    /// `EXT-X-MEDIA-SEQUENCE`.
    var firstNumber: Int { listed.first?.number ?? current?.number ?? nextSegment }

    /// The header of the newest segment.
    var header: CMAFHeader? { (current ?? segments.last).flatMap { headers[$0.header] } }

    // MARK: - Making

    /// Adds a header, which the segments from the next one on use.
    mutating func add(_ header: CMAFHeader) -> Int {
        headerCount += 1
        headers[headerCount] = header
        return headerCount
    }

    mutating func begin(header: Int, at start: Int64, isDiscontinuous: Bool) {
        end()
        current = HLSSegment(
            number: nextSegment, header: header, start: start, isDiscontinuous: isDiscontinuous && nextSegment > 0)
        nextSegment += 1
    }

    mutating func append(_ bytes: [UInt8], duration: Int64, isIndependent: Bool) {
        guard current != nil else { return }
        current?.parts.append(
            HLSPart(number: nextPart, bytes: bytes, duration: duration, isIndependent: isIndependent))
        nextPart += 1
        byteCount += bytes.count
        drop(toBytes: limits.bytes)
    }

    /// Completes the current segment.
    mutating func end() {
        guard let segment = current else { return }
        current = nil
        if segment.parts.isEmpty {
            // Its number has been promised to nobody yet.
            nextSegment = segment.number
            return
        }
        segments.append(segment)
        while listed.count > limits.segments { unlist() }
        while unlisted > HLSLimits.unlistedSegments { drop() }
    }

    /// Completes the stream.
    mutating func finish() {
        end()
        isEnded = true
    }

    /// Forgets segments, the oldest first, down to a number of bytes. The newest one stays.
    mutating func drop(toBytes limit: Int) {
        while byteCount > limit, segments.count > 1 { drop() }
    }

    /// Forgets all media.
    mutating func clear() {
        end()
        while !segments.isEmpty { drop() }
        beginning = nextSegment
    }

    private mutating func unlist() {
        if listed.first?.isDiscontinuous == true { discontinuitySequence += 1 }
        unlisted += 1
    }

    private mutating func drop() {
        if unlisted == 0 { unlist() }
        unlisted -= 1
        byteCount -= segments.removeFirst().byteCount
        let used = Set(segments.map(\.header) + [current?.header, headerCount].compactMap { $0 })
        headers = headers.filter { used.contains($0.key) }
    }

    // MARK: - Reading

    /// The media of a name; nil where there is none (any more).
    func media(_ file: HLSFile) -> [[UInt8]]? {
        switch file {
        case .playlist: nil
        case .header(let number): headers[number].map { [$0.bytes] }
        case .segment(let number): segments.first { $0.number == number }?.parts.map(\.bytes)
        case .part(let number):
            (segments + [current].compactMap { $0 }).lazy.flatMap(\.parts).first { $0.number == number }
                .map { [$0.bytes] }
        }
    }

    /// What a request has to wait for.
    enum Wait: Equatable, Sendable {
        case ready
        case waiting
        /// Nothing of this kind comes: too far ahead.
        case never
    }

    /// - Parameter file: media; a part may be the next one, which the playlist announces.
    func wait(for file: HLSFile) -> Wait {
        if media(file) != nil { return .ready }
        if case .part(nextPart) = file, !isEnded { return .waiting }
        return .never
    }

    /// - Parameters:
    ///   - number: of the segment that the playlist must have (`_HLS_msn`); nil: it must be long enough.
    ///   - part: of the part of that segment (`_HLS_part`); nil: the whole segment.
    func wait(forSegment number: Int?, part: Int?) -> Wait {
        if isEnded { return .ready }
        guard let number else { return isLongEnough ? .ready : .waiting }
        let newest = current?.number ?? nextSegment
        guard number <= newest + 1 else { return .never }
        if number < newest {
            // A part behind a segment's last one is the next segment's first one (RFC 8216bis §6.2.5.2).
            let count = segments.last.flatMap { $0.number == number ? $0.parts.count : nil } ?? .max
            guard number == newest - 1, let part, part >= count else { return .ready }
            return current?.parts.isEmpty == false ? .ready : .waiting
        }
        let known = number == newest ? current?.parts.count ?? 0 : 0
        guard let part else { return .waiting }
        if part < known { return .ready }
        return part < known + HLSLimits.partsAhead ? .waiting : .never
    }
}
