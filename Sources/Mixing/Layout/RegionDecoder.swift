import Basics

/// Converts the regions of a rule.
enum RegionDecoder {
    /// The keys of each kind of region; see `LayoutDecoder.layoutKeys`.
    static let frameKeys = ["comment", "kind", "x", "y", "width", "height", "layer"]
    static let peopleKeys = frameKeys + ["fit", "names"]
    static let slotKeys = peopleKeys + ["role", "reserved"]
    static let gridKeys = peopleKeys + ["columns", "maxTiles", "aspect", "more"]
    static let stripKeys = peopleKeys + ["direction", "align", "maxTiles", "aspect", "more"]
    static let textKeys = frameKeys + ["text", "align", "colour", "background"]
    static let imageKeys = frameKeys + ["file", "fit", "opacity", "behind"]
    static let reservationKeys = ["comment", "name", "id", "role"]

    private enum Kind: String, CaseIterable {
        case slot, grid, strip, text, image

        var keys: [String] {
            switch self {
            case .slot: RegionDecoder.slotKeys
            case .grid: RegionDecoder.gridKeys
            case .strip: RegionDecoder.stripKeys
            case .text: RegionDecoder.textKeys
            case .image: RegionDecoder.imageKeys
            }
        }
    }

    static func region(_ value: JSONValue, _ read: inout LayoutReader) -> Layout.Region {
        var region = Layout.Region(
            kind: .slot(reserved: [], roles: [.any]), x: 0, y: 0, width: 1, height: 1, fit: .auto, names: nil, layer: 0)
        guard read.checkIsObject(value, "a region"),
            let kind = read.choice(value, "kind", Kind.self, required: "a region")
        else { return region }
        read.checkKeys(value, "a \(kind.rawValue)", kind.keys)
        region.x = read.number(value, "x", 0...1) ?? 0
        region.y = read.number(value, "y", 0...1) ?? 0
        region.width = read.number(value, "width", 0.01...1) ?? max(0, 1 - region.x)
        region.height = read.number(value, "height", 0.01...1) ?? max(0, 1 - region.y)
        checkInside(value, "x", "width", region.x, region.width, &read)
        checkInside(value, "y", "height", region.y, region.height, &read)
        region.layer = read.integer(value, "layer", 0...9) ?? 0
        if kind == .text {
            region.kind = text(value, &read).map { .text($0) } ?? region.kind
            return region
        }
        if kind == .image {
            region.kind = image(value, &read).map { .image($0) } ?? region.kind
            return region
        }
        region.fit = read.choice(value, "fit", TileFit.self) ?? .auto
        region.names = read.bool(value, "names")
        if kind == .slot {
            let reserved = reservations(value, &read)
            region.kind = .slot(reserved: reserved, roles: roles(value, &read) ?? (reserved.isEmpty ? [.any] : []))
            return region
        }
        let maxTiles = read.integer(value, "maxTiles", 1...Layout.largestMaxTiles)
        let more = read.bool(value, "more") ?? false
        let aspect = aspect(value, &read)
        if kind == .grid {
            region.kind = .grid(columns: columns(value, &read), maxTiles: maxTiles, aspect: aspect, more: more)
        } else {
            let direction = read.choice(value, "direction", Layout.Direction.self)
            region.kind = .strip(
                direction: direction ?? (region.width >= region.height ? .row : .column),
                align: read.choice(value, "align", Layout.Alignment.self) ?? .center, maxTiles: maxTiles,
                aspect: aspect, more: more)
        }
        return region
    }

    private static func roles(_ value: JSONValue, _ read: inout LayoutReader) -> [Layout.Role]? {
        guard let role = value["role"] else { return nil }
        let names = Layout.Role.allCases.map(\.rawValue)
        if case .array(let entries) = role.node {
            if entries.isEmpty {
                read.report(role.position, "\"role\" is an empty list", "name one of \(LayoutReader.listed(names))")
            }
            return entries.compactMap { read.oneOf($0, "\"role\"", names).flatMap(Layout.Role.init) }
        }
        return read.oneOf(role, "\"role\"", names).flatMap(Layout.Role.init).map { [$0] } ?? [.any]
    }

    /// Reads `{"name": "Ada"}`, `{"id": "u-17"}`, `{"role": "moderator"}`, or a list of these.
    private static func reservations(_ value: JSONValue, _ read: inout LayoutReader) -> [Layout.Reservation] {
        guard let reserved = value["reserved"] else { return [] }
        guard case .array(let entries) = reserved.node else { return reservation(reserved, &read).map { [$0] } ?? [] }
        guard (1...100).contains(entries.count) else {
            read.report(
                reserved.position, "\"reserved\" is \(entries.isEmpty ? "an empty list" : "too long")",
                "name 1 to 100 people, identities or roles")
            return []
        }
        return entries.compactMap { reservation($0, &read) }
    }

    private static func reservation(_ value: JSONValue, _ read: inout LayoutReader) -> Layout.Reservation? {
        guard read.checkObject(value, "\"reserved\"", reservationKeys) else { return nil }
        var found: [Layout.Reservation] = []
        if let name = read.text(value, "name") { found.append(.name(name.text)) }
        if let id = read.text(value, "id") { found.append(.externalID(id.text)) }
        if let role = read.choice(value, "role", LayoutMember.Role.self) { found.append(.role(role)) }
        if ["name", "id", "role"].count(where: { value[$0] != nil }) != 1 {
            read.report(
                value.position, "\"reserved\" must say one thing",
                "write {\"name\": \"…\"}, {\"id\": \"…\"} or {\"role\": \"…\"}, or a list of these")
        }
        return found.first
    }

    private static func text(_ value: JSONValue, _ read: inout LayoutReader) -> LayoutText? {
        guard let text = read.text(value, "text", required: "a text") else { return nil }
        if text.text.isEmpty || text.text.count > LayoutText.longest {
            read.report(
                text.position, "a text of \(text.text.count) characters",
                "write 1 to \(LayoutText.longest) characters")
            return nil
        }
        do throws(LayoutText.UnknownPlaceholder) {
            return try LayoutText(
                text.text, align: read.choice(value, "align", Layout.Alignment.self) ?? .center,
                colour: read.colour(value, "colour") ?? Colour(0xFFFFFF), background: read.colour(value, "background"))
        } catch {
            let names = LayoutText.Placeholder.allCases.map { "{\($0.rawValue)}" }
            read.report(
                text.position, "the placeholder \"{\(error.name.prefix(40))}\"",
                Spelling.nearest(error.name, among: LayoutText.Placeholder.allCases.map(\.rawValue)).map {
                    "did you mean \"{\($0)}\"?"
                } ?? "use \(names.joined(separator: ", "))")
            return nil
        }
    }

    private static func image(_ value: JSONValue, _ read: inout LayoutReader) -> LayoutImage? {
        let fit = read.choice(value, "fit", LayoutImage.Fit.self) ?? .contain
        let opacity = read.number(value, "opacity", 0...1) ?? 1
        let isBehind = read.bool(value, "behind") ?? false
        guard let file = read.text(value, "file", required: "an image") else { return nil }
        guard LayoutImage.isFile(file.text) else {
            read.report(
                file.position, "the file \"\(file.text.prefix(40))\"",
                "name a PNG or JPEG file of the same directory: letters, digits, '.', '_' and '-'")
            return nil
        }
        switch read.picture(file.text) {
        case .success(let picture):
            return LayoutImage(file: file.text, picture: picture, fit: fit, opacity: opacity, isBehind: isBehind)
        case .failure(let fault):
            read.report(file.position, fault.what, fault.mend)
            return nil
        }
    }

    private static func columns(_ value: JSONValue, _ read: inout LayoutReader) -> Int? {
        guard let columns = value["columns"] else { return nil }
        if case .string("auto") = columns.node { return nil }
        guard case .number = columns.node else {
            read.report(
                columns.position, "\"columns\" is \(columns.kind)", "write \"auto\" or a whole number from 1 to 20")
            return nil
        }
        return read.checkInteger(columns, "\"columns\"", 1...20)
    }

    /// Reads `"16:9"`, `1.5`, `[1.33, "16:9"]` or `"fill"`.
    private static func aspect(_ value: JSONValue, _ read: inout LayoutReader) -> Layout.Aspect {
        guard let aspect = value["aspect"] else { return .wide }
        if case .string("fill") = aspect.node { return .fill }
        if case .array(let ends) = aspect.node, ends.count == 2 {
            guard let first = ratio(ends[0], &read), let second = ratio(ends[1], &read) else { return .wide }
            return Layout.Aspect(narrowest: min(first, second), widest: max(first, second))
        }
        return ratio(aspect, &read).map { Layout.Aspect(narrowest: $0, widest: $0) } ?? .wide
    }

    private static func ratio(_ value: JSONValue, _ read: inout LayoutReader) -> Double? {
        let mend = "write \"16:9\", a number from 0.2 to 5, a list of two of these, or \"fill\""
        var ratio: Double?
        switch value.node {
        case .number(let number): ratio = number
        case .string(let text):
            let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Double($0) }
            if parts.count == 2, let width = parts[0], let height = parts[1], height > 0 { ratio = width / height }
        default: break
        }
        guard let ratio, (0.2...5).contains(ratio) else {
            read.report(value.position, "the aspect \(value.kind)", mend)
            return nil
        }
        return ratio
    }

    private static func checkInside(
        _ region: JSONValue, _ start: String, _ extent: String, _ from: Double, _ size: Double,
        _ read: inout LayoutReader
    ) {
        guard from + size > 1 + 1e-6, let place = region[extent] ?? region[start] else { return }
        let end = JSONValue.format(((from + size) * 10_000).rounded() / 10_000)
        read.report(
            place.position, "\"\(start)\" + \"\(extent)\" is \(end), outside the canvas",
            "make \"\(extent)\" at most \(JSONValue.format(((1 - from) * 10_000).rounded() / 10_000))")
    }
}
