import Basics
import Conference
import RoomMedia

extension ConfigurationRule where Value == [String: ViewSettings] {
    /// `{NAME: {layout, width, height, framesPerSecond, renditions, names}}`
    static let views = ConfigurationRule(
        allowed: "{NAME: {layout, width and height: even, \(ViewSettings.side.lowerBound) to "
            + "\(ViewSettings.side.upperBound), framesPerSecond, renditions as video.renditions, names: true or false}}; "
            + "a NAME has \(LayoutDocument.nameRule), and is not \(ViewSettings.main); at most \(ViewSettings.most)"
    ) { raw in
        guard case .map(let entries) = raw, entries.count <= ViewSettings.most else { return nil }
        var views: [String: ViewSettings] = [:]
        for entry in entries {
            guard ViewSettings.isName(entry.key), entry.key != ViewSettings.main, views[entry.key] == nil,
                let view = view(entry.value)
            else { return nil }
            views[entry.key] = view
        }
        return views
    }

    private static func view(_ raw: RawSetting) -> ViewSettings? {
        var view = ViewSettings()
        if raw == .null { return view }
        guard case .map(let entries) = raw else { return nil }
        let side = ConfigurationRule<Int>.integer(ViewSettings.side, even: true)
        for entry in entries {
            var isRead = true
            func read<Wanted>(_ rule: ConfigurationRule<Wanted>, into place: inout Wanted?) {
                guard entry.value != .null else { return }
                place = rule.read(entry.value)
                isRead = place != nil
            }
            switch entry.key {
            case "layout": read(.text("a layout", where: LayoutDocument.isName), into: &view.layout)
            case "width": read(side, into: &view.width)
            case "height": read(side, into: &view.height)
            case "framesPerSecond": read(.integer(RoomSettings.allowed.framesPerSecond), into: &view.framesPerSecond)
            case "names": read(.bool, into: &view.names)
            case "renditions":
                read(
                    .list(of: ConfigurationSchema.rendition, "renditions", count: ViewSettings.rungs),
                    into: &view.renditions)
                view.renditions?.sort { ($0.height, $0.bitRate) > ($1.height, $1.bitRate) }
            default: return nil
            }
            if !isRead { return nil }
        }
        return view
    }
}
