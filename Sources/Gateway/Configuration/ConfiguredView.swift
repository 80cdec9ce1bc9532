import Conference

/// A named view of rooms as the settings have it, without a preset.
public struct ConfiguredView: Hashable, Sendable {
    public let layout: String
    /// In pixels.
    public let width: Int
    public let height: Int
    /// Whether tiles show names; nil: as the layout says.
    public let names: Bool?
}

extension TesseraConfiguration {
    /// The names of the views of rooms, `main` first.
    public var viewNames: [String] { rooms.settings.viewNames }

    /// The view of this name; nil: there is none.
    ///
    /// - Parameters:
    ///   - presenting: whether somebody presents.
    ///   - withOwnRules: the layouts with rules for presenting.
    public func view(_ name: String, presenting: Bool, withOwnRules: Set<String>) -> ConfiguredView? {
        rooms.settings.view(name, presenting: presenting, withOwnRules: withOwnRules).map { view in
            ConfiguredView(layout: view.shown.name, width: view.width, height: view.height, names: view.names)
        }
    }
}
